// Picking, writing, ordering, masks and random values in the catalog.
#include "ops/catalog/catalog.h"
#include "ops/catalog/catalog_build.h"
#include "tenon/indexing.h"
#include "tenon/random.h"

namespace tenon {
namespace {

using catalog_build::builder;
using catalog_build::builder_by_hand;
using catalog_build::view_builder;

Value scatter_text(const Value& x, const Value& update, const std::vector<Value>& index, const std::string& op,
                   const Axes& axes, const Axes& x_batch, const Axes& index_batch) {
  return scatter(x, update, index, {axes, x_batch, index_batch}, op);
}

std::vector<Value> sort_text(const Value& key, const std::vector<Value>& value, int axis, bool descending) {
  std::vector<Value> values{key};
  values.insert(values.end(), value.begin(), value.end());
  return sort_together(values, axis, descending);
}

std::vector<Value> top_k_text(const Value& x, const Extent& k, int axis, bool largest) {
  const TopK best = top_k(x, k, axis, largest);
  return {best.values, best.indices};
}

}  // namespace

std::vector<CatalogEntry> indexing_builders() {
  return {
      // Picking
      builder<&take_along_axis>("take_along_axis", "x, index, axis", "x at `index` along `axis`, position by position"),
      builder<&gather_nd>("gather_nd", "x, indices, batch_dims=0", "x at tuples of positions"),
      builder<&diagonal>("diagonal", "x, axis1=0, axis2=1, offset=0", "the diagonal of two axes, as the last axis"),
      // Writing
      builder<&scatter_text>("scatter", "x, update, index, op, axes, x_batch=[], index_batch=[]",
                             "x with updates at positions, by set, add, mul, max or min"),
      builder<&scatter_along_axis>("scatter_along_axis", "x, index, update, axis, op=set",
                                   "x with updates at `index` along `axis`, position by position"),
      builder<&scatter_nd>("scatter_nd", "x, indices, update, op=set, batch_dims=0",
                           "x with updates at tuples of positions"),
      // Ordering
      builder_by_hand<&sort_text>("sort", "key, value=[], axis=-1, descending=false",
                                  "all ordered along an axis as the key is"),
      builder<&argsort>("argsort", "x, axis=-1, descending=false", "the positions that sort takes its elements from"),
      builder<&top_k_text>("top_k", "x, k, axis=-1, largest=true", "the k largest or smallest, and their positions"),
      // Running
      builder<&cumulative_sum>("cumulative_sum", "x, axis=-1, exclusive=false, reverse=false", "the running sum"),
      builder<&cumulative_product>("cumulative_product", "x, axis=-1, exclusive=false, reverse=false",
                                   "the running product"),
      builder<&cumulative_max>("cumulative_max", "x, axis=-1, exclusive=false, reverse=false", "the running maximum"),
      builder<&cumulative_min>("cumulative_min", "x, axis=-1, exclusive=false, reverse=false", "the running minimum"),
      // Counting and masks
      builder<&arange>("arange", "start, stop, step=1, dtype=i64", "start, start + step, ... before stop"),
      builder<&linspace>("linspace", "start, stop, count, dtype=f32", "`count` numbers from start to stop"),
      builder<&one_hot>("one_hot", "index, depth, dtype=f32, on=1, off=0, axis=-1",
                        "`on` where a new axis counts to the index"),
      builder<&eye>("eye", "rows, columns, k=0, dtype=f32", "1 at [i, i + k], else 0"),
      builder<&triangle_mask>("triangle_mask", "rows, columns, k=0", "true at [i, j] for j <= i + k"),
      builder<&tril>("tril", "x, k=0", "zeros above the diagonal j == i + k of the last two axes"),
      builder<&triu>("triu", "x, k=0", "zeros below the diagonal j == i + k of the last two axes"),
      builder<&meshgrid>("meshgrid", "x", "value i along axis i of one common shape"),
      // Arranging
      view_builder<&split>("split", "x, axis, sizes", "parts of these sizes along an axis"),
      view_builder<&split_evenly>("split_evenly", "x, axis, parts", "parts of one size along an axis"),
      builder<&stack>("stack", "x, axis=0", "values along a new axis"),
      view_builder<&unstack>("unstack", "x, axis=0", "the elements of an axis of static size"),
      builder<&tile>("tile", "x, repeats", "repeated as a whole along each axis"),
      builder<&repeat_interleave>("repeat_interleave", "x, times, axis", "each element repeated along an axis"),
      builder<&roll>("roll", "x, shift, axis", "element i moves to (i + shift) mod size"),
      // Random
      builder<&random_bits>("random_bits", "key, counter, shape", "uniform bits, u32 or u64"),
      builder<&uniform>("uniform", "key, counter, shape, low=0, high=1", "uniform in [low, high)"),
      builder<&normal>("normal", "key, counter, shape, mean=0, deviation=1", "normally distributed"),
      builder<&dropout>("dropout", "x, rate, key, counter", "zeros with probability `rate`, the rest scaled up"),
      builder<&permutation>("permutation", "key, counter, count", "0 ... count-1 in random order"),
  };
}

}  // namespace tenon
