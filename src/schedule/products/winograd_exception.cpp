// Squares whose pixels are not all numbers. Winograd's form subtracts them from one another, so that one of them makes
// all results of its squares NaN; the convolution has only those that read it, and an infinity may stay one.
#include "schedule/products/winograd_writer.h"

namespace tenon::schedule {

/// Whether the sums in `buffer` of a square are numbers. Each pixel enters one of the four products in the corners, and
/// makes their sums no numbers, whatever the weights.
int WinogradWriter::are_numbers(int buffer) {
  const Extent apart = squares_ * blocks_.results + kWinogradApart;
  const loops::Affine first = scale(step_number(draft_, rows_), blocks_.results);
  const int64_t last = form_.pixels() - 1;
  const int zero = draft_.values.constant(Dtype::f32, 0);
  int all = -1;
  for (const int64_t part : {int64_t{0}, last, last * form_.pixels(), form_.parts() - 1}) {
    const loops::Affine at = add(first, affine_constant(part * apart));
    const int sum = draft_.values.load({.buffer = buffer, .at = at, .inside = {}, .lookups = {}}, all_rows());
    const int none = draft_.values.compute(Prim::mul, Dtype::f32, {sum, zero});
    all = all < 0 ? none : draft_.values.compute(Prim::add, Dtype::f32, {all, none});
  }
  return draft_.values.compute(Prim::eq, Dtype::boolean, {all, zero});
}

/// The weight at a position of the convolution, of the matrices that begin at `from`. What is subtracted is so before
/// anything is rounded: a difference is not lost.
int WinogradWriter::weight(int64_t i, int64_t j, const loops::Affine& from, const std::vector<loops::Bound>& inside) {
  const int64_t apart = layout().matrix_elements();
  const auto load = [&](int64_t matrix) {
    const loops::Affine at = add(from, affine_constant(matrix * apart));
    return draft_.values.load({.buffer = match_.weights.buffer, .at = at, .inside = inside, .lookups = {}});
  };
  if (i == 1 && j == 1) {
    return load(form_.parts());
  }
  const layouts::RecoveredWeight row = layouts::recovered_weight(form_, i);
  const layouts::RecoveredWeight column = layouts::recovered_weight(form_, j);
  int number = load(row.number * form_.pixels() + column.number);
  if (row.less >= 0 || column.less >= 0) {
    const int64_t other =
        row.less >= 0 ? row.less * form_.pixels() + column.number : row.number * form_.pixels() + column.less;
    number = draft_.values.compute(Prim::sub, Dtype::f32, {number, load(other)});
  }
  const int factor = draft_.values.constant(Dtype::f32, row.factor * column.factor);
  return draft_.values.compute(Prim::mul, Dtype::f32, {number, factor});
}

/// Such squares as the convolution has them, summed into scratch a channel at a time.
void WinogradWriter::write_exception(int buffer) {
  ProductException& exception = result_.exception;
  exception = {.unless = are_numbers(buffer), .once = add_axis("once", 1), .stores = {}};
  const auto store = [&](DraftStore each) {
    each.axes |= all_rows();
    exception.stores.push_back(draft_.stores.size());
    draft_.stores.push_back(std::move(each));
  };
  const bool panels = constants_.panel > 0;
  const int64_t width = panels ? constants_.panel : blocks_.results;
  const int64_t count = (blocks_.results + width - 1) / width;
  const int row = add_axis("row", form_.results);
  const int column = add_axis("column", form_.results);
  const int64_t elements = form_.results * form_.results * count * width;
  const int sums = add_scratch(draft_, Dtype::f32, elements);
  const loops::Affine square = scale(add(scale(affine_axis(row), form_.results), affine_axis(column)), count * width);

  const int element = add_axis("element", elements);
  store({.buffer = sums,
         .at = affine_axis(element),
         .value = draft_.values.constant(Dtype::f32, 0),
         .axes = axis_bit(element)});

  const int channel = add_axis("channel", size_.channels);
  const int panel = add_axis("panel", count);
  const int result = add_axis("result", width);
  const AxisSet loops = axis_bit(row) | axis_bit(column) | axis_bit(channel) | axis_bit(panel) | axis_bit(result);
  const loops::Affine in_block = add(scale(affine_axis(panel), width), affine_axis(result));
  std::vector<loops::Bound> inside;
  if (size_.results % blocks_.results != 0) {  // the last block is shorter
    inside.push_back({.index = add(scale(affine_axis(result_blocks_), blocks_.results), in_block),
                      .size = layout().matrix_elements() / size_.channels});
  }
  loops::Affine weights = add(first_weight(), scale(affine_axis(channel), layout().panel));
  weights = add(weights, add(scale(affine_axis(panel), size_.channels * width), affine_axis(result)));
  std::map<int, Substituted::Place> channels{{match_.channels, {.at = affine_axis(channel)}}};
  if (channel_blocks_ >= 0) {
    channels.emplace(channel_blocks_, Substituted::Place{});
  }
  const loops::Affine at = add(square, in_block);
  int sum = draft_.values.load({.buffer = sums, .at = at, .inside = {}, .lookups = {}}, all_rows() | loops);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      const int pixel = this->pixel(all(row, i), all(column, j), channels);
      const int product = draft_.values.compute(Prim::mul, Dtype::f32, {pixel, weight(i, j, weights, inside)});
      sum = draft_.values.compute(Prim::add, Dtype::f32, {sum, product});
    }
  }
  store({.buffer = sums, .at = at, .value = sum, .axes = loops});

  const loops::Affine whole = add(square, affine_axis(match_.results));
  const int known = draft_.values.load({.buffer = sums, .at = whole, .inside = {}, .lookups = {}}, all_rows());
  for (DraftStore& each :
       stored(all(row), all(column), known, axis_bit(row) | axis_bit(column) | axis_bit(match_.results))) {
    store(std::move(each));
  }
}

}  // namespace tenon::schedule
