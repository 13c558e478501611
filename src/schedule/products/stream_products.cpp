#include "schedule/products/stream_products.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "schedule/products/product_blocks.h"

namespace tenon::schedule {
namespace {

constexpr int64_t kBlockMultiple = 32;

bool needs_axis(const Draft& draft, int value, int axis) { return contains(draft.values.axes(value), axis); }

}  // namespace

int ProductStream::compute(Prim prim, std::vector<int> operands) const {
  const Dtype dtype = draft_->values.dtype(operands[0]);
  return draft_->values.compute(prim, dtype, std::move(operands));
}

int ProductStream::exp_of_difference(int a, int b) const { return compute(form_.power, {compute(Prim::sub, {a, b})}); }

std::optional<ProductStream> ProductStream::find(Draft& draft, const std::vector<ProductMatch>& products,
                                                 const std::vector<size_t>& stores, const ProductTiles& tiles) {
  const auto sums_floats = [](const ProductTypes& types) {
    return types == ProductTypes{} || (has_narrow_right(types) && types.tile == Dtype::f32);
  };
  if (products.size() != 2 || !sums_floats(products[1].types)) {
    return std::nullopt;
  }
  const ProductMatch& scores = products[0];
  const ProductMatch& second = products[1];
  if (std::popcount(second.depth) != 1 || scores.columns != second.depth || scores.rows != second.rows ||
      scores.types.tile != Dtype::f32) {
    return std::nullopt;
  }
  const int keys = in_order(second.depth)[0];
  const std::vector<int> columns = in_order(second.columns);
  // Wide rows of results of halves are no less wide than those of floats: blocks are as small for them.
  const bool is_stored =
      has_narrow_right(second.types) || !in_place(draft, second.right, second.types.right, {keys}, columns);
  const auto length = draft.axis(keys).extent.constant();
  if ((length && *length <= tiles.streamed_block && !is_stored) || draft.axis(keys).tile_of >= 0 ||
      std::ranges::any_of(stores, [&](size_t store) { return contains(draft.stores[store].axes, keys); })) {
    return std::nullopt;
  }
  // What the second product sums: powers, each times or over what the row shares.
  ProductStream stream(draft);
  int power = second.left;
  if (const auto* compute = std::get_if<loops::Compute>(&draft.value(power).what);
      compute && (compute->prim == Prim::div || compute->prim == Prim::mul) &&
      !needs_axis(draft, compute->operands[1], keys)) {
    stream.applied_ = compute->prim;
    stream.factor_ = compute->operands[1];
    power = compute->operands[0];
  }
  const auto is_product = [&](const DraftReduction& reduction) {
    return reduction.accumulator == scores.accumulator || reduction.accumulator == second.accumulator;
  };
  const auto sum = std::ranges::find_if(draft.reductions, [&](const DraftReduction& reduction) {
    return !is_product(reduction) && draft.accumulator(reduction).op == ReduceOp::sum &&
           draft.accumulator(reduction).input == power;
  });
  if (sum == draft.reductions.end() || sum->axes != second.depth) {
    return std::nullopt;
  }
  stream.sum_ = static_cast<size_t>(sum - draft.reductions.begin());
  const auto form = streamed_form(draft, stream.sum_);
  if (!form || form->kind != StreamedForm::Kind::powers) {
    return std::nullopt;
  }
  stream.form_ = *form;
  // The largest element of the row, and sums of its powers about that: nothing else.
  for (size_t i = 0; i < draft.reductions.size(); ++i) {
    const DraftReduction& reduction = draft.reductions[i];
    if (is_product(reduction) || i == stream.sum_ || i == form->anchor) {
      continue;
    }
    const auto other = streamed_form(draft, i);
    if (!other || other->kind != StreamedForm::Kind::powers || other->anchor != form->anchor || other->x != form->x ||
        needs_axis(draft, other->from, keys)) {
      return std::nullopt;
    }
    stream.others_.push_back({.accumulator = reduction.accumulator, .result = reduction.result, .from = other->from});
  }
  if (needs_axis(draft, stream.form_.from, keys) || needs_axis(draft, second.result, keys)) {
    return std::nullopt;
  }
  stream.keys_ = keys;
  stream.length_ = draft.axis(keys).extent;
  stream.level_ = draft.reductions[stream.sum_].level;
  // Beside two tiles, rows that are stored may be so wide that few of them fit.
  const Extent fits = max(1, floordiv(tiles.streamed_with_block, 2 * tiles.rows + steps_of(draft, columns)));
  const Extent whole = tiles.streamed_block;
  const Extent most = is_stored ? min(whole, max(1, fits - kBlockMultiple)) : whole;
  const Extent block = block_size(stream.length_, most, kBlockMultiple);
  const Extent size = named_size(draft, is_stored ? min(block, fits) : block);
  stream.blocks_ = tile_axis(draft, keys, size);
  return stream;
}

/// The reduction runs over one block now.
void ProductStream::restart(size_t index, int input) {
  DraftReduction& reduction = draft_->reductions[index];
  loops::Accumulator accumulator = draft_->accumulator(reduction);
  accumulator.input = input;
  reduction.accumulator = static_cast<int>(draft_->kernel.accumulators.size());
  draft_->kernel.accumulators.push_back(accumulator);
  reduction.axes = axis_bit(keys_);
  reduction.level |= axis_bit(blocks_);
  reduction.result = draft_->values.result(reduction.accumulator, accumulator.dtype, reduction.level);
}

/// What the block before left.
int ProductStream::carry(int buffer, const loops::Affine& at, AxisSet axes) const {
  return draft_->values.load({.buffer = buffer, .at = at, .inside = {}, .lookups = {}}, axes);
}

void ProductStream::store(std::vector<size_t>& where, int buffer, const loops::Affine& at, int value, AxisSet axes) {
  where.push_back(draft_->stores.size());
  draft_->stores.push_back({.buffer = buffer, .at = at, .value = value, .axes = axes});
}

/// A sum over no elements is 0, whatever they would have been multiplied by.
int ProductStream::unless_empty(int value) const {
  KernelValues& values = draft_->values;
  if (const auto length = length_.constant(); length && *length > 0) {
    return value;
  }
  const int empty = values.compute(Prim::eq, Dtype::boolean,
                                   {values.position(affine_constant(length_)), values.constant(Dtype::i64, 0)});
  return values.select(empty, values.constant(compute_dtype(values.dtype(value)), 0), value);
}

void ProductStream::begin(ProductMatch& second, const std::vector<int>& rows) {
  KernelValues& values = draft_->values;
  level_ = draft_->reductions[sum_].level & ~axis_bit(blocks_);
  const AxisSet inside = level_ | axis_bit(blocks_);
  const int largest_before = draft_->reductions[form_.anchor].result;
  const int sum_before = draft_->reductions[sum_].result;
  const loops::Affine at = step_number(*draft_, rows);
  const int largest_buffer = add_scratch(*draft_, Dtype::f32, steps_of(*draft_, rows));
  const int sum_buffer = add_scratch(*draft_, Dtype::f32, steps_of(*draft_, rows));
  restart(form_.anchor, form_.x);
  const int before = carry(largest_buffer, at, inside);
  const int largest = compute(Prim::max, {before, draft_->reductions[form_.anchor].result});
  const int centre = power_centre(*draft_, largest);
  scale_ = exp_of_difference(power_centre(*draft_, before), centre);
  const int power = exp_of_difference(form_.x, centre);
  restart(sum_, power);
  second.left = power;
  const int sum = compute(
      Prim::add, {compute(Prim::mul, {carry(sum_buffer, at, inside), scale_}), draft_->reductions[sum_].result});
  store(first_, largest_buffer, at, values.constant(Dtype::f32, -std::numeric_limits<double>::infinity()), level_);
  store(first_, sum_buffer, at, values.constant(Dtype::f32, 0), level_);
  store(carried_, largest_buffer, at, largest, inside);
  store(carried_, sum_buffer, at, sum, inside);
  // After the last block.
  const int row_largest = carry(largest_buffer, at, level_);
  results_[largest_before] = row_largest;
  const int from = replaced(*draft_, form_.from, results_);
  moved_ = exp_of_difference(power_centre(*draft_, row_largest), from);
  const int row_sum = carry(sum_buffer, at, level_);
  results_[sum_before] = unless_empty(compute(Prim::mul, {moved_, row_sum}));
  for (const OtherSum& other : others_) {
    const int about = replaced(*draft_, other.from, results_);
    const int moved = exp_of_difference(power_centre(*draft_, row_largest), about);
    results_[other.result] = unless_empty(compute(Prim::mul, {moved, row_sum}));
  }
}

bool ProductStream::is_known(const DraftReduction& reduction) const {
  return std::ranges::find(others_, reduction.accumulator, &OtherSum::accumulator) != others_.end();
}

void ProductStream::finish(const ProductMatch& second, const loops::Load& tile) {
  const AxisSet axes = draft_->values.axes(second.result);
  const int before = carry(tile.buffer, tile.at, axes | axis_bit(blocks_));
  store(first_, tile.buffer, tile.at, draft_->values.constant(Dtype::f32, 0), axes);
  store(carried_, tile.buffer, tile.at, compute(Prim::mul, {before, scale_}), axes | axis_bit(blocks_));
  int result = compute(Prim::mul, {carry(tile.buffer, tile.at, axes), moved_});
  if (factor_ >= 0) {
    result = compute(applied_, {result, replaced(*draft_, factor_, results_)});
  }
  results_[second.result] = unless_empty(result);
}

}  // namespace tenon::schedule
