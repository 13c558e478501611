// Operators that keep what data say: their results have an axis that data decide.
#include "onnx/import/registry.h"
#include "ops/builders/selection.h"
#include "tenon/selection.h"

namespace tenon::importer {
namespace {

/// A mask that is known decides the size of the result now.
std::optional<Value> known_positions(const NodeCall& call, const Value& mask) {
  const std::optional<Array> known = call.known_array(mask);
  if (!known) {
    return {};
  }
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < known->size(); ++i) {
    if (known->at(i) != 0) {
      kept.push_back(i);
    }
  }
  return constant(Array::from({static_cast<int64_t>(kept.size())}, kept));
}

Results nonzero_positions(const NodeCall& call) {
  const Value& x = call.x(0);
  const std::optional<Value> known = known_positions(call, x);
  return known ? coordinates(*known, x.shape().axes()) : nonzero(x);
}

Results compress_axis(const NodeCall& call) {
  const bool flat = !call.has_attribute("axis");
  const Value x = flat ? reshape(call.x(0), {Axis::anonymous()}) : call.x(0);
  const int axis = flat ? 0 : call.axis("axis", 0);
  const Value& mask = call.x(1);
  if (const std::optional<Value> known = known_positions(call, mask)) {
    return take(x, *known, axis);
  }
  const Value kept = compress(x, mask, axis);
  call.require_at_least(x.extent(axis), mask.extent(0), "the mask of Compress");
  return kept;
}

Results unique_elements(const NodeCall& call) {
  UniqueOptions options{.sorted = call.flag("sorted", true)};
  if (call.has_attribute("axis")) {
    options.axis = call.axis("axis", 0);
  }
  const UniqueElements found = unique(call.x(0), options);
  return std::vector<Value>{found.values, found.first, found.inverse, found.counts};
}

/// A scalar that may come as one of rank 0 or of one element.
Value scalar_of(const Value& x) { return x ? reshape(x, {}) : x; }

Results suppressed(const NodeCall& call) {
  SuppressionOptions options{.overlap = scalar_of(call.x_or_none(3)),
                             .score = scalar_of(call.x_or_none(4)),
                             .center_and_size = call.flag("center_point_box")};
  if (const Value limit = call.x_or_none(2)) {
    const auto known = call.known_extents(limit);
    if (known && known->size() == 1) {
      options.most = known->front();
    } else {
      options.limit = scalar_of(limit);
    }
  }
  return non_max_suppression(call.x(0), call.x(1), options);
}

}  // namespace

std::vector<OperatorEntry> selection_operators() {
  return {
      {"", "NonZero", 9, nonzero_positions},
      {"", "Compress", 9, compress_axis, ElementUse::first_moved},
      {"", "Unique", 11, unique_elements},
      {"", "NonMaxSuppression", 10, suppressed},
  };
}

}  // namespace tenon::importer
