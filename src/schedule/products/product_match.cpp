#include "schedule/products/product_match.h"

#include <optional>
#include <utility>

#include "schedule/products/product_operands.h"

namespace tenon::schedule {
namespace {

/// What an operand is before it was widened to `wide`: a value, and the dtype that it has in memory.
std::pair<int, Dtype> narrow(const Draft& draft, int value, Dtype wide) {
  const auto* compute = std::get_if<loops::Compute>(&draft.value(value).what);
  const bool is_widened = compute && compute->prim == Prim::cast && draft.value(value).dtype == wide;
  const int source = is_widened ? compute->operands[0] : value;
  if (const loops::Load* load = plain_load(draft, source)) {
    return {source, draft.kernel.buffers[static_cast<size_t>(load->buffer)].dtype};
  }
  // What is computed in eight bits is stored so for the product.
  const Dtype computed = draft.value(source).dtype;
  const bool is_byte = computed == Dtype::i8 || computed == Dtype::u8;
  return is_widened && is_byte ? std::pair(source, computed) : std::pair(value, draft.value(value).dtype);
}

std::optional<ProductMatch> as_product(const Draft& draft, const DraftReduction& reduction) {
  const loops::Accumulator& sum = draft.kernel.accumulators[static_cast<size_t>(reduction.accumulator)];
  const auto* compute = std::get_if<loops::Compute>(&draft.value(sum.input).what);
  if (sum.op != ReduceOp::sum || !compute || compute->prim != Prim::mul) {
    return std::nullopt;
  }
  ProductMatch found{.accumulator = reduction.accumulator,
                     .result = reduction.result,
                     .types = {.left = sum.dtype, .right = sum.dtype, .tile = sum.dtype},
                     .left = compute->operands[0],
                     .right = compute->operands[1],
                     .depth = reduction.axes};
  const auto [left_value, left_dtype] = narrow(draft, found.left, sum.dtype);
  const auto [right_value, right_dtype] = narrow(draft, found.right, sum.dtype);
  if (const ProductTypes types{.left = left_dtype, .right = right_dtype, .tile = sum.dtype}; is_product(types)) {
    found.types = types;
    found.left = left_value;
    found.right = right_value;
  }
  if (!is_product(found.types)) {
    return std::nullopt;
  }
  const AxisSet left = draft.values.axes(found.left);
  const AxisSet right = draft.values.axes(found.right);
  found.rows = left & ~right;
  found.columns = right & ~left;
  found.batch = left & right & ~found.depth;
  const bool is_whole = is_subset(found.depth, left & right) && found.rows != 0 && found.columns != 0;
  return is_whole ? std::optional(found) : std::nullopt;
}

}  // namespace

std::vector<ProductMatch> find_products(const Draft& draft) {
  std::vector<ProductMatch> found;
  for (const DraftReduction& reduction : draft.reductions) {
    if (auto product = as_product(draft, reduction)) {
      found.push_back(*product);
    }
  }
  return found;
}

}  // namespace tenon::schedule
