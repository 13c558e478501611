// A wrong number of axes is told at the node that has it, with what the operator expects.
#include <gtest/gtest.h>

#include "onnx/model_builder.h"
#include "support/error_text.h"

namespace tenon::operand_ranks_test {
namespace {

struct RankCase {
  const char* op;
  std::vector<const char*> shapes;  // of the operands; none for one that is left out
  const char* message;
  int opset = 17;
  const char* domain = "";
};

class OperandRanks : public testing::TestWithParam<RankCase> {};

TEST_P(OperandRanks, AreToldAtTheNode) {
  const RankCase& row = GetParam();
  OnnxModelBuilder model(row.opset);
  if (*row.domain != '\0') {
    model.opset(row.domain, 1);
  }
  std::vector<std::string> names;
  for (const char* shape : row.shapes) {
    names.push_back(*shape == '\0' ? "" : "x" + std::to_string(names.size()));
    if (*shape != '\0') {
      model.input(names.back(), shape);
    }
  }
  model.node(row.op, names, {"y"}, {}, row.domain).set_name("culprit");
  model.output("y");
  EXPECT_EQ(error_text([&] { imported(model); }).substr(0, std::string(row.message).size()), row.message);
  EXPECT_NE(error_text([&] { imported(model); }).find("at node \"culprit\""), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Families, OperandRanks,
    testing::Values(
        RankCase{"Conv",
                 {"f32[n, c]", "f32[o, c]"},
                 "input 0, x [batch, channel, position...], has 2 axes, must have 3 or more: f32[n, c]"},
        RankCase{"ConvTranspose",
                 {"f32[n, c, h]", "f32[c, o, 3]", "f32[1, o]"},
                 "input 2, B [output channel], has 2 axes, must have 1: f32[1, o]"},
        RankCase{"DeformConv",
                 {"f32[n, c, h]", "f32[o, c, 3]", "f32[n, k, h]"},
                 "input 0, X [batch, channel, row, column], has 3 axes, must have 4: f32[n, c, h]",
                 19},
        RankCase{"MaxPool",
                 {"f32[h, w]"},
                 "input 0, X [batch, channel, position...], has 2 axes, must have 3 or more: f32[h, w]"},
        RankCase{"GlobalAveragePool",
                 {"f32[c]"},
                 "input 0, X [batch, channel, position...], has 1 axes, must have 2 or more: f32[c]"},
        RankCase{
            "Gather", {"f32[]", "i64[]"}, "input 0, data one axis or more, has 0 axes, must have 1 or more: f32[]"},
        RankCase{"CumSum", {"f32[]", "i64[]"}, "input 0, x one axis or more, has 0 axes, must have 1 or more: f32[]"},
        RankCase{"Softmax", {"f32[]"}, "input 0, input one axis or more, has 0 axes, must have 1 or more: f32[]"},
        RankCase{"Trilu",
                 {"f32[n]"},
                 "input 0, X [..., row, column], has 1 axes, must have 2 or more: f32[n]",
                 17,
                 "com.microsoft"},
        RankCase{"QLinearConv",
                 {"u8[n, c]", "f32[]", "u8[]", "i8[o, c, 3]", "f32[]", "i8[]", "f32[]", "u8[]"},
                 "input 0, x [batch, channel, position...] or [batch, position..., channel], has 2 axes",
                 17,
                 "com.microsoft"},
        RankCase{"BatchNormalization",
                 {"f32[n, c, h]", "f32[1, c]", "f32[c]", "f32[c]", "f32[c]"},
                 "input 1, scale [channel], has 2 axes, must have 1: f32[1, c]"},
        RankCase{"LSTM",
                 {"f32[s, i]", "f32[1, g, i]", "f32[1, g, h]"},
                 "input 0, X [step, batch, number], has 2 axes, must have 3: f32[s, i]"},
        RankCase{"GRU",
                 {"f32[s, b, i]", "f32[1, g, i]", "f32[1, g, h]", "f32[g]"},
                 "input 3, B [direction, gate], has 1 axes, must have 2: f32[g]"},
        RankCase{"STFT",
                 {"f32[n]", "i64[]"},
                 "input 0, signal [batch, sample] or [batch, sample, 1 or 2], has 1 axes, must have 2 to 3: f32[n]"},
        RankCase{"DFT", {"f32[n]"}, "input 0, input [..., sample, 1 or 2], has 1 axes, must have 2 or more: f32[n]"},
        RankCase{
            "Gemm", {"f32[b, n, k]", "f32[k, m]"}, "input 0, A [row, depth], has 3 axes, must have 2: f32[b, n, k]"},
        RankCase{"DepthToSpace",
                 {"f32[c, h, w]"},
                 "input 0, input [batch, channel, row, column], has 3 axes, must have 4: f32[c, h, w]"},
        RankCase{"RoiAlign",
                 {"f32[n, c, h, w]", "f32[4]", "i64[r]"},
                 "input 1, rois [region, number], has 1 axes, must have 2: f32[4]"},
        RankCase{"NonMaxSuppression",
                 {"f32[n, 4]", "f32[1, c, n]"},
                 "input 0, boxes [batch, box, 4], has 2 axes, must have 3: f32[n, 4]"},
        RankCase{"TopK", {"f32[]", "i64[1]"}, "input 0, X one axis or more, has 0 axes, must have 1 or more: f32[]"},
        RankCase{"SoftmaxCrossEntropyLoss",
                 {"f32[c]", "i64[]"},
                 "input 0, scores [batch, class, position...], has 1 axes, must have 2 or more: f32[c]"},
        RankCase{"EmbedLayerNormalization",
                 {"i32[s]"},
                 "input 0, input_ids [batch, word], has 1 axes, must have 2: i32[s]",
                 17,
                 "com.microsoft"}),
    [](const auto& row) { return std::string(row.param.op); });

}  // namespace
}  // namespace tenon::operand_ranks_test
