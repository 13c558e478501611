// What is wrong with a model is told in the words of the operator that the model has, where it is wrong.
#include <gtest/gtest.h>

#include "onnx/model_builder.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"

namespace tenon::cause_test {
namespace {

struct CauseCase {
  const char* op;
  std::vector<std::string> operands;  // shapes of inputs
  std::vector<Array> constants;       // behind them
  const char* message;
  std::vector<proto::AttributeProto> attributes = {};
  const char* domain = "";
};

std::string complaint(const CauseCase& row) {
  OnnxModelBuilder model;
  if (*row.domain != '\0') {
    model.opset(row.domain, 1);
  }
  std::vector<std::string> names;
  for (const std::string& shape : row.operands) {
    names.push_back("x" + std::to_string(names.size()));
    model.input(names.back(), shape);
  }
  for (const Array& value : row.constants) {
    names.push_back("x" + std::to_string(names.size()));
    model.constant(names.back(), value);
  }
  model.node(row.op, names, {"y", row.op == std::string("TopK") ? "z" : ""}, row.attributes, row.domain)
      .set_name("culprit");
  model.output("y");
  return error_text([&] { imported(model); });
}

class Cause : public testing::TestWithParam<CauseCase> {};

TEST_P(Cause, IsToldInTheWordsOfTheOperator) {
  const std::string text = complaint(GetParam());
  EXPECT_EQ(text.substr(0, text.find('\n')), GetParam().message);
  EXPECT_NE(text.find("at node \"culprit\""), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  in "), std::string::npos) << text;  // no operation that the model has not
}

const std::vector<proto::AttributeProto> kBlocks = {attribute("K", int64_t{48}), attribute("N", int64_t{4}),
                                                    attribute("bits", int64_t{4}),
                                                    attribute("block_size", int64_t{16})};

INSTANTIATE_TEST_SUITE_P(
    Operators, Cause,
    testing::Values(
        CauseCase{"TopK", {"f32[n, 8]"}, {ints({9})}, "k is 9, axis 1 of X has fewer elements: f32[n, 8]"},
        CauseCase{"STFT",
                  {"f32[n, 8]"},
                  {Array::scalar(i64, 2), Array(f32, {16})},
                  "the signal is shorter than a frame of 16 samples of STFT: f32[n, 8]"},
        CauseCase{"MatMulNBits",
                  {"f32[n, 32]", "u8[4, 3, 8]", "f32[4, 3]"},
                  {},
                  "K is 48, the last axis of A is 32: f32[n, 32]",
                  kBlocks,
                  "com.microsoft"},
        CauseCase{"MatMulNBits",
                  {"f32[n, 48]", "u8[4, 2, 8]", "f32[4, 2]"},
                  {},
                  "B is u8[4, 2, 8], must be of N = 4 rows of 3 blocks of 8, which K = 48 in blocks of 16 takes",
                  kBlocks,
                  "com.microsoft"},
        CauseCase{
            "SoftmaxCrossEntropyLoss", {"f32[n, 5]"}, {ints({1, 7})}, "label 7 is none of the 5 classes of f32[n, 5]"},
        CauseCase{"NegativeLogLikelihoodLoss",
                  {"f32[n, 5]"},
                  {ints({1, -1})},
                  "label -1 is none of the 5 classes of f32[n, 5]"},
        CauseCase{"CumSum", {"f32[n]"}, {Array::scalar(i64, 1)}, "CumSum: axis 1 is out of range for rank 1: f32[n]"},
        CauseCase{"Gather",
                  {"f32[n, 3]"},
                  {Array::scalar(i64, 0)},
                  "Gather: axis 2 is out of range for rank 2: f32[n, 3]",
                  {attribute("axis", int64_t{2})}},
        CauseCase{"Gemm",
                  {"f32[1, 4]"},
                  {Array(f32, {4, 5}), Array(f32, {3, 5})},
                  "C is f32[3, 5], must have 1 elements along axis 0"},
        CauseCase{"Conv",
                  {"f32[n, 3, h]"},
                  {Array(f32, {1, 3, 3}), Array(f32, {4})},
                  "B is f32[4], must have 1 elements along axis 0"},
        CauseCase{"BatchNormalization",
                  {"f32[n, 1, h]"},
                  {Array(f32, {5}), Array(f32, {5}), Array(f32, {5}), Array(f32, {5})},
                  "scale is f32[5], must have 1 elements along axis 0"},
        CauseCase{"LSTM",
                  {"f32[n, 2, 3]"},
                  {Array(f32, {1, 16, 3}), Array(f32, {1, 16, 4})},
                  "R is f32[1, 16, 4], must have 5 elements along axis 2",
                  {attribute("hidden_size", int64_t{5})}},
        CauseCase{"InstanceNormalization",
                  {"f32[n, 4, h]"},
                  {Array(f32, {3}), Array(f32, {3})},
                  "scale is f32[3], must have 4 elements along axis 0"},
        CauseCase{"Conv",
                  {"f32[n, 3, h]"},
                  {Array(f32, {1, 3, 3})},
                  "pads are [1, -1], must not be negative: a Slice before Conv crops",
                  {attribute("pads", std::vector<int64_t>{1, -1})}},
        CauseCase{"MaxPool",
                  {"f32[n, 3, h]"},
                  {},
                  "pads are [-1, 0], must not be negative: a Slice before MaxPool crops",
                  {attribute("pads", std::vector<int64_t>{-1, 0}), attribute("kernel_shape", std::vector<int64_t>{2})}},
        CauseCase{"ConvTranspose",
                  {"f32[n, 2, 5]"},
                  {Array(f32, {2, 3, 3})},
                  "output_shape asks for 9 more along axis 2 than kernels reach, must be fewer than 2, the larger of "
                  "stride and dilation",
                  {attribute("output_shape", std::vector<int64_t>{20}), attribute("strides", std::vector<int64_t>{2})}},
        CauseCase{
            "ConvTranspose",
            {"f32[n, 2, h]"},
            {Array(f32, {2, 3, 3})},
            "output_padding asks for 2 more along axis 2 than kernels reach, must be fewer than 2, the larger of "
            "stride and dilation",
            {attribute("output_padding", std::vector<int64_t>{2}), attribute("strides", std::vector<int64_t>{2})}},
        CauseCase{"ConvTranspose",
                  {"f32[n, 2, h]"},
                  {Array(f32, {2, 3, 3})},
                  "output_padding is given for 2 axes, the input has 1 behind the channels",
                  {attribute("output_padding", std::vector<int64_t>{0, 0})}},
        CauseCase{"RNN",
                  {"f32[3, 2, 5]", "f32[1, 4, 5]", "f32[1, 4, 4]"},
                  {Array(f32, {1, 8}), ints({9, 2}).cast(i32)},
                  "sequence_lens has 9, must be from 0 to 3, the first axis of X"},
        CauseCase{"LSTM",
                  {"f32[n, 3, 5]", "f32[1, 16, 5]", "f32[1, 16, 4]"},
                  {Array(f32, {1, 32}), ints({1}).cast(i32)},
                  "sequence_lens is i32[1], must have 3 elements along axis 0"},
        CauseCase{"GRU",
                  {"f32[n, 2, 5]", "f32[1, 12, 5]", "f32[1, 12, 4]"},
                  {Array(f32, {1, 24}), ints({-1, 2}).cast(i32)},
                  "sequence_lens has -1, must be from 0 to n, the first axis of X"}));

/// Lengths that only a run knows are held against the sizes of that run.
TEST(OnnxCause, LengthsOfSequencesAreToldAsSuch) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 2, 5]");
  model.constant("w", Array(f32, {1, 4, 5}));
  model.constant("r", Array(f32, {1, 4, 4}));
  model.input("lengths", "i32[2]");
  model.node("RNN", {"x", "w", "r", "", "lengths"}, {"y"}).set_name("culprit");
  model.output("y");
  const auto said = [&](int64_t first) {
    return error_text([&] { interpret(imported(model), {Array(f32, {3, 2, 5}), ints({first, 2}).cast(i32)}); });
  };
  const std::string place = "\n  at node \"culprit: a length of RNN\"";
  EXPECT_EQ(said(4), "gather: position 4 is out of range for axis 0 of size 4" + place);
  EXPECT_EQ(said(-1), "gather: position -1 is out of range for axis 0 of size 4" + place);
  EXPECT_EQ(interpret(imported(model), {Array(f32, {3, 2, 5}), ints({3, 0}).cast(i32)}).size(), 1U);
}

/// A label that only a run knows is told as one.
TEST(OnnxCause, LabelsAreToldAsSuch) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 5]");
  model.input("labels", "i64[n]");
  model.node("SoftmaxCrossEntropyLoss", {"x", "labels"}, {"y"}).set_name("culprit");
  model.output("y");
  EXPECT_EQ(error_text([&] { interpret(imported(model), {Array(f32, {2, 5}), ints({1, 7})}); }),
            "gather: position 7 is out of range for axis 1 of size 5\n"
            "  at node \"culprit: a label of SoftmaxCrossEntropyLoss\"");
}

/// What is added to a product is repeated for it, and never the product for that.
TEST(OnnxCause, AProductIsNotRepeatedForWhatIsAdded) {
  OnnxModelBuilder model;
  model.input("x", "f32[n, 4]");
  model.constant("w", Array(f32, {4, 5}));
  model.constant("c", Array(f32, {3, 5}));
  model.node("Gemm", {"x", "w", "c"}, {"y"}).set_name("culprit");
  model.output("y");
  EXPECT_EQ(error_text([&] { interpret(imported(model), {Array(f32, {1, 4})}); }),
            "axis `n` is 1, must be 3: needed by Gemm\n  at node \"culprit\"");
  EXPECT_EQ(interpret(imported(model), {Array(f32, {3, 4})})[0].dims(), (std::vector<int64_t>{3, 5}));
}

/// Sizes that only a run knows: what they must be is needed by the operator of the model.
TEST(OnnxCause, SizesAreNeededByOperatorsOfTheModel) {
  OnnxModelBuilder model;
  model.input("x", "f32[n]");
  model.constant("k", ints({5}));
  model.node("TopK", {"x", "k"}, {"y", ""}).set_name("culprit");
  model.output("y");
  EXPECT_EQ(error_text([&] { interpret(imported(model), {Array(f32, {3})}); }),
            "axis `n` is 3, must be at least 5: needed by TopK\n  at node \"culprit\"");
  OnnxModelBuilder sound;
  sound.input("x", "f32[1, n]");
  sound.constant("step", Array::scalar(i64, 2));
  sound.constant("window", Array(f32, {16}));
  sound.node("STFT", {"x", "step", "window"}, {"y"}).set_name("culprit");
  sound.output("y");
  EXPECT_EQ(error_text([&] { interpret(imported(sound), {Array(f32, {1, 8})}); }),
            "axis `n` is 8, must be at least 16: needed by a frame of 16 samples of STFT\n  at node \"culprit\"");
}

}  // namespace
}  // namespace tenon::cause_test
