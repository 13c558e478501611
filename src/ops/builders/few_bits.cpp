#include "ops/builders/few_bits.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/refused.h"
#include "ir/node.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// Columns that lie side by side: a cache line of bytes, and whole vectors of any machine.
constexpr int64_t kPanel = 64;

int64_t known(const Value& x, int axis) {
  const auto size = x.extent(axis).constant();
  if (!size) {
    refuse("axis {} of {} must have a known size", axis, x.shape().to_string());
  }
  return *size;
}

/// What is known now is put into order now. Passes leave constants of megabytes as they are, and a view of one would be
/// read across its order in each run.
std::optional<Array> known_array(const Value& x) {
  if (const auto* known = x.node().as<Constant>()) {
    return known->value;
  }
  const auto* reshape = x.node().as<Reshape>();
  const auto* known = reshape != nullptr ? x.node().inputs[0].node().as<Constant>() : nullptr;
  if (known == nullptr) {
    return std::nullopt;
  }
  std::vector<int64_t> dims;
  for (const Axis& axis : x.shape().axes()) {
    const auto size = axis.extent().constant();
    if (!size) {
      return std::nullopt;
    }
    dims.push_back(*size);
  }
  return known->value.reshaped(std::move(dims));
}

/// How the columns lie.
struct Panels {
  int64_t columns;
  int64_t width;
  int64_t count;

  explicit Panels(int64_t of_columns)
      : columns(of_columns),
        width(std::clamp<int64_t>(of_columns, 1, kPanel)),
        count((of_columns + width - 1) / width) {}

  /// [columns, blocks, rest ...] to [panels, blocks, rest ..., columns of a panel].
  Value of(const Value& x) const {
    if (const std::optional<Array> array = known_array(x)) {
      return constant(moved(*array));
    }
    const int rank = x.rank();
    Value whole = x;
    if (count * width != columns) {
      std::vector<Extent> high(static_cast<size_t>(rank), 0);
      high[0] = count * width - columns;
      whole = pad(x, std::vector<Extent>(static_cast<size_t>(rank), 0), high);
    }
    std::vector<Axis> axes = {count, width};
    Axes order = {0};
    for (int i = 1; i < rank; ++i) {
      axes.push_back(x.shape().axis(i));
      order.push_back(i + 1);
    }
    order.push_back(1);
    return transpose(reshape(whole, axes), order);
  }

 private:
  Array moved(const Array& x) const {
    std::vector<int64_t> dims = {count};
    dims.insert(dims.end(), x.dims().begin() + 1, x.dims().end());
    dims.push_back(width);
    Array result = Array::full(x.dtype(), dims, 0);
    const auto size = static_cast<int64_t>(byte_size(x.dtype()));
    const int64_t rest = columns == 0 ? 0 : x.size() / columns;
    const std::byte* const from = x.data();
    std::byte* const to = result.mutable_data();
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t begin = column / width * rest * width + column % width;
      for (int64_t i = 0; i < rest; ++i) {
        std::memcpy(to + (begin + i * width) * size, from + (column * rest + i) * size, static_cast<size_t>(size));
      }
    }
    return result;
  }
};

/// The numbers at place `i` of each byte.
Value numbers_at(const Value& bytes, int64_t bits, int64_t i) {
  const bool is_last = bits * (i + 1) == 8;
  const Value shifted = i == 0 ? bytes : shr(bytes, static_cast<double>(bits * i));
  return is_last ? shifted : bit_and(shifted, static_cast<double>((int64_t{1} << bits) - 1));
}

/// The first numbers of each row of packed ones: rows end with whole bytes.
Array first_of_rows(const Array& bytes, int64_t bits, int64_t count) {
  const int64_t rows = bytes.dims()[0];
  const int64_t parts = 8 / bits;
  Array result = Array::uninitialized(Dtype::u8, {rows, count});
  const auto from = bytes.values<uint8_t>();
  const auto to = result.mutable_values<uint8_t>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t byte = from[static_cast<size_t>(row * bytes.dims()[1] + i / parts)];
      to[static_cast<size_t>(row * count + i)] = static_cast<uint8_t>(byte >> (i % parts * bits) & ((1 << bits) - 1));
    }
  }
  return result;
}

}  // namespace

Value unpack_bits(const Value& bytes, int64_t bits) {
  const int64_t parts = 8 / bits;
  if (parts == 1) {
    return bytes;
  }
  if (bytes.rank() == 0 || bytes.dtype() != Dtype::u8) {
    refuse("packed numbers are {}, must be u8 with axes", bytes.shape().to_string());
  }
  std::vector<Axis> to = bytes.shape().axes();
  to.emplace_back(parts);
  const Value shift = iota(shape(Dtype::u8, parts), 0, 0, bits);
  const Value each = bit_and(shr(expand_dims(bytes, {-1}), shift), (1 << bits) - 1);
  to.pop_back();
  to.back() = to.back().extent() * parts;
  return reshape(each, to);
}

Value block_zeros(const FewBits& matrix) {
  if (matrix.zeros->dtype() != Dtype::u8) {
    return *matrix.zeros;
  }
  const int64_t blocks = known(matrix.bytes, 1);
  if (matrix.zeros->rank() != 2 || known(*matrix.zeros, 1) * (8 / matrix.bits) < blocks) {
    refuse("zero points are {}, too few for {} blocks of each column", matrix.zeros->shape().to_string(), blocks);
  }
  const std::optional<Array> packed = known_array(*matrix.zeros);
  return packed ? constant(first_of_rows(*packed, matrix.bits, blocks))
                : slice_axis(unpack_bits(*matrix.zeros, matrix.bits), 1, 0, blocks);
}

Value product_of_few_bits(const Value& x, const FewBits& matrix) {
  if (matrix.bits != 2 && matrix.bits != 4 && matrix.bits != 8) {
    refuse("numbers of {} bits are not supported", matrix.bits);
  }
  const int64_t parts = 8 / matrix.bits;
  const Panels panels(known(matrix.bytes, 0));
  const int64_t blocks = known(matrix.bytes, 1);
  const int64_t bytes = known(matrix.bytes, 2);
  const int64_t depth = known(x, -1);
  const Dtype dtype = matrix.scales.dtype();
  const Value packed = panels.of(matrix.bytes);
  const Value scales = expand_dims(panels.of(matrix.scales), {2});
  const Value zeros = matrix.zeros ? cast(expand_dims(panels.of(block_zeros(matrix)), {2}), dtype)
                                   : scalar(dtype, static_cast<double>(int64_t{1} << (matrix.bits - 1)));
  // The rows of x as the blocks lie.
  const int rank = x.rank();
  Value whole = x;
  if (blocks * bytes * parts != depth) {
    std::vector<Extent> high(static_cast<size_t>(rank), 0);
    high.back() = blocks * bytes * parts - depth;
    whole = pad(x, std::vector<Extent>(static_cast<size_t>(rank), 0), high);
  }
  std::vector<Axis> in_blocks = x.shape().axes();
  in_blocks.pop_back();
  std::vector<Axis> result_axes = in_blocks;
  result_axes.emplace_back(panels.count * panels.width);
  in_blocks.insert(in_blocks.end(), {blocks, bytes, parts});
  whole = reshape(whole, in_blocks);

  std::optional<Value> sum;
  for (int64_t i = 0; i < parts; ++i) {
    const Value weights = cast((cast(numbers_at(packed, matrix.bits, i), dtype) - zeros) * scales, x.dtype());
    const Value elements = squeeze(slice_axis(whole, -1, i, i + 1), {-1});
    const Value product =
        contract(elements, weights, {.lhs_contract = {-2, -1}, .rhs_contract = {1, 2}},
                 is_float(x.dtype()) && x.dtype() != Dtype::f64 ? std::optional(Dtype::f32) : std::nullopt);
    sum = sum ? *sum + product : product;
  }
  const Value result = slice_axis(reshape(*sum, result_axes), -1, 0, panels.columns);
  return cast(result, x.dtype());
}

}  // namespace tenon
