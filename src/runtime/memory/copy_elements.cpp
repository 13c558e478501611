#include "runtime/memory/copy_elements.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace tenon::runtime {
namespace {

constexpr int64_t kLine = 64;  // bytes that memory hands out together

/// An axis of both tensors; steps are in bytes.
struct Axis {
  int64_t size = 1;
  int64_t from = 0;
  int64_t to = 0;
};

std::vector<int64_t> strides_of(const Operand& operand) {
  if (!operand.strides.empty()) {
    return {operand.strides.begin(), operand.strides.end()};
  }
  std::vector<int64_t> strides(operand.dims.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= operand.dims[i];
  }
  return strides;
}

/// As few axes as there can be, in the order in which the target lies in memory; at least one.
std::vector<Axis> axes_of(const Operand& from, const Operand& to) {
  const auto element = static_cast<int64_t>(byte_size(from.dtype));
  const std::vector<int64_t> from_strides = strides_of(from);
  const std::vector<int64_t> to_strides = strides_of(to);
  std::vector<Axis> axes;
  for (size_t i = 0; i < from.dims.size(); ++i) {
    if (from.dims[i] != 1) {
      axes.push_back({.size = from.dims[i], .from = from_strides[i] * element, .to = to_strides[i] * element});
    }
  }
  std::ranges::stable_sort(axes, [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    Axis* const outer = merged.empty() ? nullptr : &merged.back();
    if (outer != nullptr && outer->from == axis.size * axis.from && outer->to == axis.size * axis.to) {
      *outer = {.size = outer->size * axis.size, .from = axis.from, .to = axis.to};
    } else {
      merged.push_back(axis);
    }
  }
  if (merged.empty()) {
    merged.push_back({.size = 1, .from = element, .to = element});
  }
  return merged;
}

template <int64_t Size>
void copy_row(std::byte* to, const std::byte* from, const Axis& axis) {
  if (axis.from == Size && axis.to == Size) {
    std::memcpy(to, from, static_cast<size_t>(axis.size * Size));
    return;
  }
  for (int64_t i = 0; i < axis.size; ++i) {
    std::memcpy(to + i * axis.to, from + i * axis.from, Size);
  }
}

/// A square of `rows` of the target by `columns`, through a copy of it: each line of the source is read once, each line
/// of the target written once, however badly they share the sets of a cache.
template <int64_t Size>
void copy_square(std::byte* to, int64_t to_row, const std::byte* from, int64_t from_column, int64_t rows,
                 int64_t columns) {
  constexpr int64_t kSide = kLine / Size;
  std::byte square[static_cast<size_t>(kSide)][static_cast<size_t>(kLine)];
  for (int64_t j = 0; j < columns; ++j) {
    std::memcpy(square[j], from + j * from_column, static_cast<size_t>(rows * Size));
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      std::memcpy(to + i * to_row + j * Size, square[j] + i * Size, Size);
    }
  }
}

/// Rows along `row` of the target, whose elements are neighbours, by `column`, along which those of the source are.
template <int64_t Size>
void copy_squares(std::byte* to, const std::byte* from, const Axis& column, const Axis& row) {
  constexpr int64_t kSide = kLine / Size;
  for (int64_t i = 0; i < column.size; i += kSide) {
    for (int64_t j = 0; j < row.size; j += kSide) {
      std::byte* const target = to + i * column.to + j * Size;
      const std::byte* const source = from + i * Size + j * row.from;
      if (column.size - i >= kSide && row.size - j >= kSide) {
        copy_square<Size>(target, column.to, source, row.from, kSide, kSide);
      } else {
        copy_square<Size>(target, column.to, source, row.from, std::min(kSide, column.size - i),
                          std::min(kSide, row.size - j));
      }
    }
  }
}

/// Call inner(to, from) for each position of the outer axes.
void for_each(std::span<const Axis> outer, std::byte* to, const std::byte* from, const auto& inner) {
  int64_t count = 1;
  for (const Axis& axis : outer) {
    count *= axis.size;
  }
  std::vector<int64_t> index(outer.size(), 0);
  for (; count > 0; --count) {
    inner(to, from);
    for (size_t i = outer.size(); i-- > 0;) {
      to += outer[i].to;
      from += outer[i].from;
      if (++index[i] < outer[i].size) {
        break;
      }
      to -= outer[i].size * outer[i].to;
      from -= outer[i].size * outer[i].from;
      index[i] = 0;
    }
  }
}

template <int64_t Size>
void copy(const Operand& from, const Operand& to) {
  std::vector<Axis> axes = axes_of(from, to);
  const Axis row = axes.back();
  axes.pop_back();
  const auto neighbours = std::ranges::find(axes, Size, &Axis::from);
  if (row.to == Size && row.from != Size && neighbours != axes.end()) {
    const Axis column = *neighbours;
    axes.erase(neighbours);
    for_each(axes, to.data, from.data,
             [&](std::byte* target, const std::byte* source) { copy_squares<Size>(target, source, column, row); });
  } else {
    for_each(axes, to.data, from.data,
             [&](std::byte* target, const std::byte* source) { copy_row<Size>(target, source, row); });
  }
}

}  // namespace

void copy_elements(const Operand& from, const Operand& to) {
  if (from.size() == 0) {
    return;
  }
  const size_t element = byte_size(from.dtype);
  if (from.is_row_major() && to.is_row_major()) {
    std::memmove(to.data, from.data, static_cast<size_t>(from.size()) * element);
    return;
  }
  (element == 1 ? copy<1> : element == 2 ? copy<2> : element == 4 ? copy<4> : copy<8>)(from, to);
}

}  // namespace tenon::runtime
