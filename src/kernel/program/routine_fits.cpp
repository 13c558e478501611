#include "kernel/program/routine_fits.h"

#include <algorithm>

namespace tenon {
namespace {

using Shapes = std::span<const Shape>;

bool same_axes(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.axes(), b.axes(), {}, &Axis::extent, &Axis::extent);
}

bool has_axis(const Shape& shape, int axis) { return axis >= 0 && axis < shape.rank(); }

bool fits(const SortRoutine& sort, Shapes reads, Shapes writes) {
  return !reads.empty() && reads.size() == writes.size() && has_axis(reads[0], sort.axis) &&
         std::ranges::equal(reads, writes, {}, &Shape::dtype, &Shape::dtype) &&
         std::ranges::all_of(reads, [&](const Shape& each) { return same_axes(each, reads[0]); }) &&
         std::ranges::all_of(writes, [&](const Shape& each) { return same_axes(each, reads[0]); });
}

bool fits(const ScanRoutine& scan, Shapes reads, Shapes writes) {
  return reads.size() == 1 && writes.size() == 1 && has_axis(reads[0], scan.axis) && same_axes(reads[0], writes[0]);
}

bool fits(const ScatterRoutine& scatter, Shapes reads, Shapes writes) {
  if (reads.size() != 2 + scatter.axes.size() || writes.size() != 1 || !same_axes(reads[0], writes[0]) ||
      reads[0].dtype() != writes[0].dtype() || reads[1].dtype() != writes[0].dtype() || scatter.axes.empty() ||
      scatter.x_batch.size() != scatter.index_batch.size()) {
    return false;
  }
  const Shape& positions = reads[2];
  const auto is_of = [](const Shape& shape) { return [&shape](int axis) { return has_axis(shape, axis); }; };
  const auto is_position = [&](const Shape& each) {
    return same_axes(each, positions) && (each.dtype() == Dtype::i64 || each.dtype() == Dtype::i32);
  };
  const auto rest = static_cast<int64_t>(reads[0].rank()) - std::ssize(scatter.axes) - std::ssize(scatter.x_batch);
  return std::ranges::all_of(scatter.axes, is_of(reads[0])) && std::ranges::all_of(scatter.x_batch, is_of(reads[0])) &&
         std::ranges::all_of(scatter.index_batch, is_of(positions)) && rest >= 0 &&
         reads[1].rank() == positions.rank() + rest && std::ranges::all_of(reads.subspan(2), is_position);
}

bool fits(const PositionsRoutine&, Shapes reads, Shapes writes) {
  return reads.size() == 1 && writes.size() == 2 && reads[0].dtype() == Dtype::boolean &&
         writes[0].dtype() == Dtype::i64 && writes[1].dtype() == Dtype::i64 &&
         writes[0].element_count() == reads[0].element_count() && writes[1].element_count() == Extent(1);
}

bool fits(const FewBitsRoutine& product, Shapes reads, Shapes writes) {
  constexpr int64_t panel = FewBitsRoutine::kPanel;
  const bool is_float = product.code != NumberCode::integer;
  const bool has_bits = is_float
                            ? product.bits == layout_of(product.code).bits() && !product.rounds && reads.size() == 3
                            : product.bits == 2 || product.bits == 4 || product.bits == 8;
  if (!has_bits || reads.size() < 3 || reads.size() > 4 || writes.size() != 1 || reads[1].rank() != 5) {
    return false;
  }
  const Shape& x = reads[0];
  const Shape& words = reads[1];
  const auto is_of_blocks = [&](const Shape& each) {
    return each.rank() == 3 && each.extent(0) == words.extent(0) && each.extent(1) == words.extent(1) &&
           each.extent(2) == Extent(panel);
  };
  const auto count = [&](int axis) { return words.extent(axis).constant().value_or(-1); };
  const int64_t block = count(2) * (32 / product.bits);
  const int64_t depth = x.rank() == 0 ? -1 : x.extent(-1).constant().value_or(-1);
  const int64_t columns = writes[0].rank() == 0 ? -1 : writes[0].extent(-1).constant().value_or(-1);
  return x.dtype() == Dtype::f32 && words.dtype() == Dtype::u8 && reads[2].dtype() == Dtype::f32 &&
         writes[0].dtype() == Dtype::f32 && count(3) == panel && count(4) == 4 && is_of_blocks(reads[2]) &&
         (reads.size() == 3 || (reads[3].dtype() == Dtype::u8 && is_of_blocks(reads[3]))) && block > 0 &&
         block <= 256 && depth > (count(1) - 1) * block && depth <= count(1) * block && columns >= 0 &&
         columns <= count(0) * panel && x.rank() == writes[0].rank() &&
         std::equal(x.axes().begin(), x.axes().end() - 1, writes[0].axes().begin(),
                    [](const Axis& a, const Axis& b) { return a.extent() == b.extent(); });
}

}  // namespace

bool fits(const LibraryRoutine& routine, std::span<const Shape> reads, std::span<const Shape> writes) {
  return std::visit([&](const auto& each) { return fits(each, reads, writes); }, routine);
}

}  // namespace tenon
