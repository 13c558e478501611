// What LLVM does to a module: which code moves, and that one compiler makes many modules as if each were its first.
#include "codegen/jit/llvm_compile.h"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>

#include <string>
#include <vector>

#include "codegen/compile_kernels.h"
#include "codegen/jit/llvm_optimize.h"
#include "codegen/llvm_text.h"
#include "codegen/target/llvm_target.h"
#include "support/loop_kernels.h"

namespace tenon::codegen::llvm_compile_test {
namespace {

// Adds one number to `count` vectors; where they are cut short, divides. What the loops do not change is inside of
// them.
constexpr const char* kInvariants = R"(
  define void @rows(ptr %values, float %number, i64 %rows, i64 %count, i64 %by, ptr %quotient) {
  entry:
    br label %row
  row:
    %r = phi i64 [ 0, %entry ], [ %next_row, %row_end ]
    %any = icmp slt i64 0, %count
    br i1 %any, label %preheader, label %row_end
  preheader:
    br label %loop
  loop:
    %i = phi i64 [ 0, %preheader ], [ %next, %latch ]
    %one = insertelement <8 x float> poison, float %number, i64 0
    %all = shufflevector <8 x float> %one, <8 x float> poison, <8 x i32> zeroinitializer
    %step = mul i64 %by, 24
    %place = add i64 %i, %step
    %address = getelementptr float, ptr %values, i64 %place
    %vector = load <8 x float>, ptr %address, align 4
    %sum = fadd <8 x float> %vector, %all
    store <8 x float> %sum, ptr %address, align 4
    %divides = icmp ne i64 %by, 0
    br i1 %divides, label %divide, label %latch
  divide:
    %part = udiv i64 %rows, %by
    store i64 %part, ptr %quotient, align 8
    br label %latch
  latch:
    %next = add nuw nsw i64 %i, 8
    %more = icmp slt i64 %next, %count
    br i1 %more, label %loop, label %row_end
  row_end:
    %next_row = add nuw nsw i64 %r, 1
    %more_rows = icmp slt i64 %next_row, %rows
    br i1 %more_rows, label %row, label %done
  done:
    ret void
  })";

/// The name of the block that holds `instruction`.
std::string block_of(const llvm::Function& function, const std::string& instruction) {
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& each : block) {
      if (each.getName() == instruction) return block.getName().str();
    }
  }
  return "nowhere";
}

TEST(Optimize, InvariantsLeaveLoopsAndConditionsStay) {
  llvm::LLVMContext context;
  const Target target = target_of(machine_named("x86-64-v3"));
  const auto machine = make_target_machine(target);
  const auto module = request_of("rows", kInvariants).emit(context);
  apply_target(*module, target, *machine);
  optimize(*module, *machine, {.sanitize_address = false, .effort = Effort::quick});
  const llvm::Function& function = *module->getFunction("rows");
  EXPECT_EQ(block_of(function, "all"), "entry") << "of both loops";
  EXPECT_EQ(block_of(function, "step"), "entry");
  EXPECT_EQ(block_of(function, "any"), "row") << "a condition would wait in a register";
  EXPECT_EQ(block_of(function, "part"), "divide") << "nothing is divided by 0 that was not before";
  EXPECT_EQ(block_of(function, "place"), "loop");
}

std::string bytes_of(ModuleCompiler& compiler, const Jit::Request& request, llvm::CodeGenFileType output) {
  CompileTimes times;
  const auto bytes = compiler.compile({.request = request, .name = "name", .output = output}, times);
  return {bytes.begin(), bytes.end()};
}

TEST(ModuleCompiler, MakesEveryModuleAsIfItWereTheFirst) {
  for (const char* name : {"x86-64-v3", "x86-64-v4", "armv8.2"}) {
    const Target target = target_of(machine_named(name));
    std::vector<Jit::Request> requests = {sum_request(target.lanes(32))};  // with all of LLVM's passes
    for (const LoopCase& each : {softmax_case(), elementwise_case(), layer_norm_case()})
      requests.push_back(kernel_request(each.kernel, target));
    ModuleCompiler kept(target);
    for (int round = 0; round < 2; ++round) {
      for (const auto output : {llvm::CodeGenFileType::ObjectFile, llvm::CodeGenFileType::AssemblyFile}) {
        for (const Jit::Request& request : requests) {
          ModuleCompiler fresh(target);
          const std::string expected = bytes_of(fresh, request, output);
          EXPECT_GT(expected.size(), 200u);
          EXPECT_EQ(bytes_of(kept, request, output), expected) << name << ", " << request.key;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::codegen::llvm_compile_test
