# Tests that take a second or more, or are many: they run in `./dev test`, and not in `./dev test -L fast`.
set(slow_tests
    "Slow*" "*.Slow*" "*/Slow*"  # suite, test, suite of an instantiation
    "Autodiff.AChainOfManyNodes"
    "BlockedProduct.IsRightOverSeveralBlocks*"
    "*/BlockedProduct.IsRightOverSeveralBlocks/*"
    "*/Attentions.GradientsEqualTheInterpreter/*"
    "*/CompiledModels.GradientsEqualTheInterpreter/*"
    "*/ConvShapes.GradientsEqualTheInterpreter/*"
    "*/CountGraphs.EqualTheInterpreterInTheLoopInterpreter/*"
    "*/MathAccuracy.*"
    "*/MathAccuracyOfTwo.*"
    "*/ProductOperands.EqualTheInterpreterBeyondATile/*"
    "*/Products.AreRightOverSeveralBlocks/*"
    "*/RandomConvs.*"
    "*/ScalarEmit.*"
    "*/Targets.*"
    "ConstraintSet.AcceptsWhatTheConstraintsAccept"
    "Differential.*"
    "EmitKernel.MakesCodeForOtherMachines"
    "EmitRandomKernels.*"
    "Export.RandomGraphsComeBackTheSame"
    "ExtentProperty.*"
    "OnnxConformance.*"
    "ProductErrors.*"
    "RoundTrip.ADeepChain")
list(JOIN slow_tests ":" slow_filter)
