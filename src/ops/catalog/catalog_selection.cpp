// Results with an axis that data decide in the catalog.
#include "ops/catalog/catalog.h"
#include "ops/catalog/catalog_build.h"
#include "tenon/selection.h"

namespace tenon {
namespace {

using catalog_build::builder;

using Name = std::optional<std::string>;

std::vector<Value> positions_text(const Value& x, const Name& axis) {
  const Found found = positions(x, axis.value_or(""));
  return {found.positions, found.count};
}

Value nonzero_text(const Value& x, const Name& axis) { return nonzero(x, axis.value_or("")); }

Value compress_text(const Value& x, const Value& mask, int axis, const Name& name) {
  return compress(x, mask, axis, name.value_or(""));
}

std::vector<Value> unique_text(const Value& x, bool sorted, std::optional<int> axis, const Name& name) {
  const UniqueElements found = unique(x, {.sorted = sorted, .axis = axis, .name = name.value_or("")});
  return {found.values, found.first, found.inverse, found.counts};
}

Value suppression_text(const Value& boxes, const Value& scores, const Extent& most, const std::optional<Value>& overlap,
                       const std::optional<Value>& score, bool center_and_size, const Name& name) {
  return non_max_suppression(boxes, scores,
                             {.most = most,
                              .limit = {},
                              .overlap = overlap.value_or(Value()),
                              .score = score.value_or(Value()),
                              .center_and_size = center_and_size,
                              .name = name.value_or("")});
}

}  // namespace

std::vector<CatalogEntry> selection_builders() {
  return {
      builder<&positions_text>("positions", "x, axis=none", "where a mask is true, i64[axis], and how often"),
      builder<&nonzero_text>("nonzero", "x, axis=none", "positions of what is not 0, a column each: i64[rank, axis]"),
      builder<&compress_text>("compress", "x, mask, axis, name=none", "x along an axis where a mask is true"),
      builder<&unique_text>("unique", "x, sorted=true, axis=none, name=none",
                            "different elements, where each is first, which each element is, how often each is"),
      builder<&suppression_text>("non_max_suppression",
                                 "boxes, scores, most, overlap=none, score=none, center_and_size=false, name=none",
                                 "batch, class and box of boxes that no better one overlaps: i64[name, 3]"),
  };
}

}  // namespace tenon
