#include "onnx/import/operand_formats.h"

#include <algorithm>
#include <array>

#include "base/refused.h"

namespace tenon::importer {
namespace {

/// They look at formats themselves, or at shapes alone, or pass items on.
constexpr std::array<std::string_view, 15> kTakeAll = {
    "Cast",          "CastLike",       "BitCast", "QuantizeLinear",    "DequantizeLinear", "Shape",
    "Size",          "Identity",       "If",      "SequenceConstruct", "SequenceInsert",   "SequenceAt",
    "SequenceErase", "SequenceLength", "Optional"};

constexpr std::array<std::string_view, 20> kMove = {
    "Reshape",      "Transpose",    "Squeeze",         "Unsqueeze",       "Flatten",
    "Slice",        "Gather",       "GatherND",        "GatherElements",  "Expand",
    "Tile",         "Concat",       "Split",           "Where",           "Compress",
    "DepthToSpace", "SpaceToDepth", "ReverseSequence", "ScatterElements", "ScatterND"};

}  // namespace

void carry_formats(std::string_view domain, std::string_view type, const Items& operands, Items& results) {
  const auto is_held = [](const Item& item) { return item.format != Format::plain; };
  const auto held = std::ranges::find_if(operands, is_held);
  if (held == operands.end() || !domain.empty() || std::ranges::find(kTakeAll, type) != kTakeAll.end()) {
    return;
  }
  const bool moves = std::ranges::find(kMove, type) != kMove.end();
  const auto is_other = [&](const Item& item) {
    return item.value && item.value.dtype() == held->value.dtype() && item.format != held->format;
  };
  if (!moves || std::ranges::any_of(operands, is_other)) {
    refuse("{} of {} elements is not supported: a Cast before it makes them numbers", type, name_of(held->format));
  }
  for (Item& result : results) {
    if (result.value && result.value.dtype() == held->value.dtype()) {
      result.format = held->format;
    }
  }
}

}  // namespace tenon::importer
