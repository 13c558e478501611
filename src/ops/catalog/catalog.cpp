#include "ops/catalog/catalog.h"

#include <array>
#include <unordered_map>

#include "ops/catalog/catalog_build.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

using catalog_build::builder;
using catalog_build::builder_by_hand;
using catalog_build::view_builder;

/// Builders whose C++ form takes a struct of lists, with the lists as parameters.
Value contract_lists(const Value& lhs, const Value& rhs, const Axes& lhs_batch, const Axes& rhs_batch,
                     const Axes& lhs_contract, const Axes& rhs_contract, std::optional<Dtype> dtype) {
  return contract(lhs, rhs, {lhs_batch, rhs_batch, lhs_contract, rhs_contract}, dtype);
}

Value gather_lists(const Value& x, const std::vector<Value>& index, const Axes& axes, const Axes& x_batch,
                   const Axes& index_batch) {
  return gather(x, index, {axes, x_batch, index_batch});
}

// Where a structural kind has the same name, the parameters are the kind's operands and fields, in order, so that what
// the printer writes also reads as a call of the builder.
std::vector<CatalogEntry> structural_builders() {
  return {
      // Leaves
      builder<&scalar>("scalar", "dtype, value", "a rank-0 constant"),
      builder<&full>("full", "shape, number", "every element `number`"),
      builder<&extent_value>("extent_value", "extent, dtype=i64", "the extent as a rank-0 value"),
      builder<&iota>("iota", "shape, axis=0, start=0, step=1", "start + step * (index along `axis`)"),
      // Reductions
      builder<&reduce_sum>("reduce_sum", "x, axes=[], keep=false", "the sum along axes; none means all"),
      builder<&reduce_product>("reduce_product", "x, axes=[], keep=false", "the product along axes"),
      builder<&reduce_max>("reduce_max", "x, axes=[], keep=false", "the largest along axes"),
      builder<&reduce_min>("reduce_min", "x, axes=[], keep=false", "the smallest along axes"),
      builder<&reduce_any>("reduce_any", "x, axes=[], keep=false", "whether any element along axes holds"),
      builder<&reduce_all>("reduce_all", "x, axes=[], keep=false", "whether all elements along axes hold"),
      builder<&reduce_mean>("reduce_mean", "x, axes=[], keep=false", "the sum divided by the number of elements"),
      builder<&argmax>("argmax", "x, axis=none, keep=false",
                       "position of the largest, the first of equals; of all elements, flattened, without an axis"),
      builder<&argmin>("argmin", "x, axis=none, keep=false",
                       "position of the smallest, the first of equals; of all elements, flattened, without an axis"),
      // Products
      builder<&contract_lists>("contract",
                               "lhs, rhs, lhs_batch=[], rhs_batch=[], lhs_contract=[], rhs_contract=[], dtype=none",
                               "sum of products over the contracted axes"),
      builder<&matmul>("matmul", "a, b", "the last axis of a with the last but one of b; leading axes broadcast"),
      // Views
      view_builder<&reshape>("reshape", "x, to", "the same elements under other axes; one `-1` takes what is left"),
      view_builder<&transpose>("transpose", "x, axes=[]", "axis i of the result is axis axes[i] of x; none reverses"),
      view_builder<&broadcast>("broadcast", "x, to, axes=[]", "axis i of x lands on axis axes[i] of `to`"),
      view_builder<&broadcast_to>("broadcast_to", "x, to", "NumPy broadcasting to the axes `to`"),
      view_builder<&slice>("slice", "x, start, size, step=[]",
                           "elements start, start + step, ... of each axis; steps below 0 walk down"),
      view_builder<&slice_axis>("slice_axis", "x, axis, begin, end=none, step=1", "x[begin:end:step] along one axis"),
      builder<&pad>("pad", "x, low, high, mode=constant, fill=0", "elements around each axis; a negative count crops"),
      view_builder<&flip>("flip", "x, axes", "reversed along axes"),
      view_builder<&expand_dims>("expand_dims", "x, axes", "axes of size 1 at these positions of the result"),
      view_builder<&squeeze>("squeeze", "x, axes", "without these axes of size 1"),
      // Joining, picking, writing
      builder<&concat>("concat", "x, axis", "one after the other along an axis"),
      builder<&take>("take", "x, index, axis=0", "x at `index` along `axis`"),
      builder<&gather_lists>("gather", "x, index, axes, x_batch=[], index_batch=[]", "x at positions along axes"),
      builder<&update_slice>("update_slice", "base, value, start", "`base` with the part at `start` replaced"),
      // Structure
      builder_by_hand<&barrier>("barrier", "x", "the identity that nothing merges with or moves across"),
  };
}

const std::vector<CatalogEntry>& table() {
  static const std::vector<CatalogEntry> entries = [] {
    std::vector<CatalogEntry> all = structural_builders();
    for (auto* part : {nn_builders, convolution_builders, indexing_builders, selection_builders}) {
      for (CatalogEntry& entry : part()) {
        all.push_back(std::move(entry));
      }
    }
    return all;
  }();
  return entries;
}

}  // namespace

std::string_view name(ArgumentType type) {
  static constexpr std::array<std::string_view, 13> kNames = {"value",    "values",  "operand", "integer", "number",
                                                              "flag",     "text",    "dtype",   "extent",  "shape",
                                                              "integers", "extents", "axes"};
  return kNames[static_cast<size_t>(type)];
}

std::span<const CatalogEntry> catalog() { return table(); }

const CatalogEntry* find_builder(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const CatalogEntry*> entries;
    for (const CatalogEntry& entry : table()) {
      TENON_CHECK(entries.emplace(entry.name, &entry).second, "two builders are called {}", entry.name);
    }
    return entries;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace tenon
