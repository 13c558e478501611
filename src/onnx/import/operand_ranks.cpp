#include "onnx/import/operand_ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/import/node_call.h"
#include "onnx/import/registry.h"

namespace tenon::importer {
namespace {

/// Operand `at` of these operators, from opset `since` on.
struct RankRow {
  std::string_view ops;  // separated by blanks
  size_t at = 0;
  int least = 0;
  int most = 0;
  std::string_view name;  // by the definition
  std::string_view form;  // its axes
  int since = 1;
  std::string_view domain = "";
};

constexpr std::string_view kConvolutions = "Conv ConvTranspose ConvInteger QLinearConv";
constexpr std::string_view kPools = "MaxPool AveragePool LpPool MaxUnpool";
constexpr std::string_view kGlobalPools = "GlobalMaxPool GlobalAveragePool GlobalLpPool";
constexpr std::string_view kRecurrent = "RNN GRU LSTM";
constexpr std::string_view kImage = "[batch, channel, position...]";
constexpr std::string_view kPicture = "[batch, channel, row, column]";

constexpr RankRow kRows[] = {
    {kConvolutions, 0, 3, kMostRank, "x", kImage},
    {"Conv ConvInteger", 1, 3, kMostRank, "w", "[output channel, channel, offset...]"},
    {"ConvTranspose", 1, 3, kMostRank, "w", "[channel, output channel, offset...]"},
    {"QLinearConv", 3, 3, kMostRank, "w", "[output channel, channel, offset...]"},
    {"Conv ConvTranspose", 2, 1, 1, "B", "[output channel]"},
    {"QLinearConv", 8, 1, 1, "B", "[output channel]"},
    {"DeformConv", 0, 4, 4, "X", kPicture},
    {"DeformConv", 1, 4, 4, "W", "[output channel, channel, row, column]"},
    {"DeformConv", 2, 4, 4, "offset", "[batch, offset, row, column]"},
    {"DeformConv", 3, 1, 1, "B", "[output channel]"},
    {"DeformConv", 4, 4, 4, "mask", "[batch, place, row, column]"},
    {kPools, 0, 3, kMostRank, "X", kImage},
    {kGlobalPools, 0, 2, kMostRank, "X", kImage},
    {"MaxRoiPool RoiAlign", 0, 4, 4, "X", kPicture},
    {"MaxRoiPool RoiAlign", 1, 2, 2, "rois", "[region, number]"},
    {"RoiAlign", 2, 1, 1, "batch_indices", "[region]"},
    {"BatchNormalization", 1, 1, 1, "scale", "[channel]", 9},
    {"BatchNormalization", 2, 1, 1, "B", "[channel]", 9},
    {"BatchNormalization", 3, 1, 1, "input_mean", "[channel]", 9},
    {"BatchNormalization", 4, 1, 1, "input_var", "[channel]", 9},
    {"InstanceNormalization", 0, 2, kMostRank, "input", kImage},
    {"InstanceNormalization", 1, 1, 1, "scale", "[channel]"},
    {"InstanceNormalization", 2, 1, 1, "B", "[channel]"},
    {"GroupNormalization", 0, 2, kMostRank, "X", kImage},
    {"GroupNormalization", 1, 1, 1, "scale", "[channel]"},
    {"GroupNormalization", 2, 1, 1, "bias", "[channel]"},
    {"LRN", 0, 2, kMostRank, "X", kImage},
    {kRecurrent, 0, 3, 3, "X", "[step, batch, number]"},
    {kRecurrent, 1, 3, 3, "W", "[direction, gate, number]"},
    {kRecurrent, 2, 3, 3, "R", "[direction, gate, state]"},
    {kRecurrent, 3, 2, 2, "B", "[direction, gate]"},
    {kRecurrent, 4, 1, 1, "sequence_lens", "[batch]"},
    {kRecurrent, 5, 3, 3, "initial_h", "[direction, batch, state]"},
    {"LSTM", 6, 3, 3, "initial_c", "[direction, batch, state]"},
    {"LSTM", 7, 2, 2, "P", "[direction, gate]"},
    {"DFT", 0, 2, kMostRank, "input", "[..., sample, 1 or 2]"},
    {"STFT", 0, 2, 3, "signal", "[batch, sample] or [batch, sample, 1 or 2]"},
    {"STFT", 2, 1, 1, "window", "[sample]"},
    {"Gemm", 0, 2, 2, "A", "[row, depth]"},
    {"Gemm", 1, 2, 2, "B", "[depth, column]"},
    {"Gemm", 2, 0, 2, "C", "what repeats to [row, column]"},
    {"MatMul MatMulInteger", 0, 1, kMostRank, "A", "[..., row, depth]"},
    {"MatMul MatMulInteger", 1, 1, kMostRank, "B", "[..., depth, column]"},
    {"Det", 0, 2, kMostRank, "X", "[..., row, row]"},
    {"DepthToSpace SpaceToDepth", 0, 4, 4, "input", kPicture},
    {"GridSample", 0, 3, kMostRank, "X", kImage},
    {"GridSample", 1, 3, kMostRank, "grid", "[batch, position..., direction]"},
    {"AffineGrid", 0, 3, 3, "theta", "[batch, direction, direction + 1]"},
    {"AffineGrid", 1, 1, 1, "size", "[axis]"},
    {"Col2Im", 0, 3, 3, "input", "[batch, channel * block, place]"},
    {"NonMaxSuppression", 0, 3, 3, "boxes", "[batch, box, 4]"},
    {"NonMaxSuppression", 1, 3, 3, "scores", "[batch, class, box]"},
    {"Compress", 1, 1, 1, "condition", "[place]"},
    {"GatherElements ScatterElements GatherND ScatterND", 0, 1, kMostRank, "data", "one axis or more"},
    {"GatherElements ScatterElements GatherND ScatterND", 1, 1, kMostRank, "indices", "one axis or more"},
    {"Gather", 0, 1, kMostRank, "data", "one axis or more"},
    {"CumSum CumProd", 0, 1, kMostRank, "x", "one axis or more"},
    {"Trilu", 0, 2, kMostRank, "input", "[..., row, column]"},
    {"Softmax LogSoftmax Hardmax LayerNormalization LpNormalization", 0, 1, kMostRank, "input", "one axis or more"},
    {"TopK", 0, 1, kMostRank, "X", "one axis or more"},
    {"SoftmaxCrossEntropyLoss", 0, 2, kMostRank, "scores", "[batch, class, position...]"},
    {"NegativeLogLikelihoodLoss", 0, 2, kMostRank, "input", "[batch, class, position...]"},
    {"SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss", 2, 1, 1, "weight", "[class]"},
    {"QLinearConv", 0, 3, kMostRank, "x", "[batch, channel, position...] or [batch, position..., channel]", 1,
     kMicrosoft},
    {"QLinearConv", 3, 3, kMostRank, "w", "[output channel, channel, offset...]", 1, kMicrosoft},
    {"QLinearConv", 8, 1, 1, "B", "[output channel]", 1, kMicrosoft},
    {"GatherBlockQuantized", 0, 1, kMostRank, "data", "one axis or more", 1, kMicrosoft},
    {"Trilu", 0, 2, kMostRank, "X", "[..., row, column]", 1, kMicrosoft},
    {"MatMulNBits", 0, 1, kMostRank, "A", "[..., depth]", 1, kMicrosoft},
    {"Attention QAttention", 0, 3, 3, "input", "[batch, word, number]", 1, kMicrosoft},
    {"Attention QAttention", 1, 2, 2, "weights", "[number, 3 * state]", 1, kMicrosoft},
    {"Attention QAttention", 2, 1, 1, "bias", "[3 * state]", 1, kMicrosoft},
    {"DynamicQuantizeLSTM", 0, 3, 3, "X", "[step, batch, number]", 1, kMicrosoft},
    {"DynamicQuantizeLSTM", 1, 3, 3, "W", "[direction, number, gate]", 1, kMicrosoft},
    {"DynamicQuantizeLSTM", 2, 3, 3, "R", "[direction, state, gate]", 1, kMicrosoft},
    {"EmbedLayerNormalization", 0, 2, 2, "input_ids", "[batch, word]", 1, kMicrosoft},
};

/// Whether a list of names, separated by blanks, has this one.
bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) {
      return true;
    }
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace

void require_operand_ranks(std::string_view domain, std::string_view op, int version, const Items& operands) {
  for (const RankRow& row : kRows) {
    if (row.domain == domain && row.since <= version && row.at < operands.size() && operands[row.at].value &&
        lists(row.ops, op)) {
      require_rank(operands[row.at].value, row.least, row.most,
                   fmt::format("input {}, {} {},", row.at, row.name, row.form));
    }
  }
}

}  // namespace tenon::importer
