#include "schedule/products/product_match.h"

#include <optional>
#include <utility>

#include "base/fail.h"
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

/// The narrowest operands that there is a product of; whether there is one.
bool choose_operands(const Draft& draft, ProductMatch& product, Dtype sum) {
  const auto [left, left_dtype] = narrow(draft, product.factors[0], sum);
  const auto [right, right_dtype] = narrow(draft, product.factors[1], sum);
  const auto choose = [&](int a, Dtype a_dtype, int b, Dtype b_dtype) {
    product.types = {.left = a_dtype, .right = b_dtype, .tile = sum};
    product.left = a;
    product.right = b;
    return is_product(product.types);
  };
  return choose(left, left_dtype, right, right_dtype) || choose(product.factors[0], sum, right, right_dtype) ||
         choose(product.factors[0], sum, product.factors[1], sum);
}

/// Of floats, fewer columns than this are summed one after the other as fast.
constexpr int64_t kFewColumnsOfARow = 32;

/// Whether one row meets a matrix in memory, of bytes, or of floats that are constant. Loops would widen
/// bytes and multiply lane by lane. Of floats they would sum each column by itself, and what follows would run column
/// by column: the gates of a recurrent layer, whose functions cost one lane as much as all of a vector. Without rows
/// what is no matrix, such as the patches of an image for one channel, would have to be stored first, for as many
/// products as it has elements.
bool is_row_by_matrix(const Draft& draft, const ProductMatch& product, const ConstantOperands& constants) {
  if (product.batch != 0 || product.rows != 0 || product.columns == 0 ||
      !in_place(draft, product.right, product.types.right, in_order(product.depth), in_order(product.columns))) {
    return false;
  }
  const auto columns = steps_of(draft, in_order(product.columns)).constant();
  const loops::Load* const load = plain_load(draft, product.right);
  const bool is_constant = constants.panel > 0 && constants.is_constant && load && constants.is_constant(load->buffer);
  return is_byte_product(product.types) || (is_constant && (!columns || *columns >= kFewColumnsOfARow));
}

std::optional<ProductMatch> as_product(const Draft& draft, const DraftReduction& reduction,
                                       const ConstantOperands& constants) {
  const loops::Accumulator& sum = draft.kernel.accumulators[static_cast<size_t>(reduction.accumulator)];
  const auto* compute = std::get_if<loops::Compute>(&draft.value(sum.input).what);
  if (sum.op != ReduceOp::sum || !compute || compute->prim != Prim::mul) {
    return std::nullopt;
  }
  ProductMatch found{.accumulator = reduction.accumulator,
                     .result = reduction.result,
                     .factors = {compute->operands[0], compute->operands[1]},
                     .depth = reduction.axes};
  if (!choose_operands(draft, found, sum.dtype)) {
    return std::nullopt;
  }
  const AxisSet left = draft.values.axes(found.left);
  const AxisSet right = draft.values.axes(found.right);
  found.rows = left & ~right;
  found.columns = right & ~left;
  found.batch = left & right & ~found.depth;
  if (!is_subset(found.depth, left & right)) {
    return std::nullopt;
  }
  if (found.columns == 0 && found.rows != 0) {
    turn(draft, found);
  }
  const bool has_rows = found.rows != 0 || is_row_by_matrix(draft, found, constants);
  return has_rows && found.columns != 0 ? std::optional(found) : std::nullopt;
}

}  // namespace

void turn(const Draft& draft, ProductMatch& product) {
  std::swap(product.factors[0], product.factors[1]);
  std::swap(product.rows, product.columns);
  TENON_CHECK(choose_operands(draft, product, product.types.tile));
}

bool is_stored_once(const Draft& draft, const std::vector<size_t>& stores, const ProductMatch& product) {
  if (stores.size() != 1) {
    return false;
  }
  const DraftStore& store = draft.stores[stores[0]];
  return store.value == product.result && is_subset(store.axes, draft.values.axes(product.result));
}

std::vector<ProductMatch> find_products(const Draft& draft, const ConstantOperands& constants) {
  std::vector<ProductMatch> found;
  for (const DraftReduction& reduction : draft.reductions) {
    if (auto product = as_product(draft, reduction, constants)) {
      found.push_back(*product);
    }
  }
  return found;
}

}  // namespace tenon::schedule
