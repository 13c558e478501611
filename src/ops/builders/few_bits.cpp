#include "ops/builders/few_bits.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/refused.h"
#include "ir/node.h"
#include "ops/composites/composite.h"
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

  Panels(int64_t of_columns, int64_t of_panel)
      : columns(of_columns), width(of_panel), count((of_columns + width - 1) / width) {}

  /// [columns, blocks, rest ...] to [panels, blocks, rest ..., columns of a panel]; the last `together` axes stay last.
  Value of(const Value& x, int together = 0) const {
    if (const std::optional<Array> array = known_array(x)) {
      return constant(moved(*array, together));
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
    order.insert(order.end() - together, 1);
    return transpose(reshape(whole, axes), order);
  }

 private:
  Array moved(const Array& x, int together) const {
    std::vector<int64_t> dims = {count};
    dims.insert(dims.end(), x.dims().begin() + 1, x.dims().end());
    dims.insert(dims.end() - together, width);
    Array result = Array::full(x.dtype(), dims, 0);
    auto size = static_cast<int64_t>(byte_size(x.dtype()));
    for (int i = 0; i < together; ++i) {
      size *= x.dims().end()[-1 - i];
    }
    const int64_t rest = columns == 0 ? 0 : static_cast<int64_t>(x.byte_count()) / columns / size;
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

/// Zeros behind the last axis.
Value pad_last(const Value& x, int64_t count) {
  if (count == 0) {
    return x;
  }
  std::vector<Extent> high(static_cast<size_t>(x.rank()), 0);
  high.back() = count;
  return pad(x, std::vector<Extent>(static_cast<size_t>(x.rank()), 0), high);
}

/// A known array is widened now: a large constant would be in each run.
Value as_f32(const Value& x) {
  const std::optional<Array> array = known_array(x);
  return array ? constant(array->cast(Dtype::f32)) : cast(x, Dtype::f32);
}

/// A matrix in panels.
struct FewBitsPanels {
  int64_t bits;
  NumberCode code;
  Value bytes;   // u8[panels, blocks, bytes of a block, columns of a panel]
  Value scales;  // [panels, blocks, 1, columns of a panel]
  Value zeros;   // likewise, or empty
};

/// The numbers at place `i` of each byte, less their zero points.
Value meaning_at(const FewBitsPanels& matrix, int64_t i) {
  const Dtype dtype = matrix.scales.dtype();
  const Value numbers = numbers_at(matrix.bytes, matrix.bits, i);
  if (matrix.code != NumberCode::integer) {
    const std::vector<float> values = values_of(matrix.code);
    const Value table = constant(Array::from<float>({static_cast<int64_t>(values.size())}, values));
    return cast(take(table, cast(numbers, Dtype::i64), 0), dtype);
  }
  const Value zeros =
      matrix.zeros ? cast(matrix.zeros, dtype) : scalar(dtype, static_cast<double>(int64_t{1} << (matrix.bits - 1)));
  return cast(numbers, dtype) - zeros;
}

Value product_of_panels(const Value& x, const FewBitsPanels& matrix, int64_t columns) {
  const int64_t parts = 8 / matrix.bits;
  const int64_t blocks = known(matrix.bytes, 1);
  const int64_t bytes = known(matrix.bytes, 2);
  // The rows of x as the blocks lie.
  std::vector<Axis> in_blocks = x.shape().axes();
  in_blocks.pop_back();
  std::vector<Axis> result_axes = in_blocks;
  result_axes.emplace_back(known(matrix.bytes, 0) * known(matrix.bytes, 3));
  in_blocks.insert(in_blocks.end(), {blocks, bytes, parts});
  const Value whole = reshape(pad_last(x, blocks * bytes * parts - known(x, -1)), in_blocks);

  std::optional<Value> sum;
  for (int64_t i = 0; i < parts; ++i) {
    const Value weights = cast(meaning_at(matrix, i) * matrix.scales, x.dtype());
    const Value elements = squeeze(slice_axis(whole, -1, i, i + 1), {-1});
    const Value product =
        contract(elements, weights, {.lhs_contract = {-2, -1}, .rhs_contract = {1, 2}},
                 is_float(x.dtype()) && x.dtype() != Dtype::f64 ? std::optional(Dtype::f32) : std::nullopt);
    sum = sum ? *sum + product : product;
  }
  return slice_axis(reshape(*sum, result_axes), -1, 0, columns);
}

std::string body_name(const FewBitsRoutine& routine) {
  const std::string_view code = name_of(routine.code);
  return fmt::format("product of {} bits{}{}{}", routine.bits, code.empty() ? "" : " ", code,
                     routine.rounds ? " by bytes" : "");
}

std::vector<FewBitsRoutine> all_routines() {
  std::vector<FewBitsRoutine> all;
  for (const int64_t bits : {2, 4, 8}) {
    all.push_back({.bits = bits, .rounds = false});
    all.push_back({.bits = bits, .rounds = true});
  }
  for (int i = 1; i <= static_cast<int>(NumberCode::e5m2fnuz); ++i) {
    const auto code = static_cast<NumberCode>(i);
    all.push_back({.bits = layout_of(code).bits(), .rounds = false, .code = code});
  }
  return all;
}

/// What FewBitsRoutine computes of its operands.
Value body_of(const FewBitsRoutine& routine, const std::vector<Value>& operands, int64_t columns) {
  const Value& x = operands[0];
  const Value& words = operands[1];
  const int64_t bytes = known(words, 2) * known(words, 4);
  const Value in_bytes =
      reshape(transpose(words, {0, 1, 2, 4, 3}), {known(words, 0), known(words, 1), bytes, known(words, 3)});
  return product_of_panels(routine.rounds ? rounded_blocks(x, bytes * 8 / routine.bits) : x,
                           {routine.bits, routine.code, in_bytes, expand_dims(operands[2], {2}),
                            operands.size() > 3 ? expand_dims(operands[3], {2}) : Value()},
                           columns);
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

Value rounded_blocks(const Value& x, int64_t block) {
  const int64_t depth = known(x, -1);
  const int64_t blocks = (depth + block - 1) / block;
  std::vector<Axis> axes = x.shape().axes();
  axes.back() = Axis(blocks);
  axes.emplace_back(block);
  const Value whole = reshape(pad_last(x, blocks * block - depth), axes);
  const Value most = reduce_max(abs(whole), {-1}, true);
  const Value inverse = select(ge(most, 1e-36), 127 / most, scalar(x.dtype(), 0));
  const Value rounded = round(whole * inverse) * (most / 127);
  axes.pop_back();
  axes.back() = Axis(blocks * block);
  return slice_axis(reshape(rounded, axes), -1, 0, depth);
}

Value product_of_few_bits(const Value& x, const FewBits& matrix, LeftOperand left) {
  const bool are_floats = matrix.code != NumberCode::integer;
  if (are_floats ? matrix.bits != layout_of(matrix.code).bits() || matrix.zeros || left == LeftOperand::bytes
                 : matrix.bits != 2 && matrix.bits != 4 && matrix.bits != 8) {
    refuse("numbers of {} bits {} are not supported", matrix.bits, name_of(matrix.code));
  }
  constexpr int64_t word = 4;
  const int64_t bytes = known(matrix.bytes, 2);
  const int64_t block = bytes * 8 / matrix.bits;
  const int64_t columns = known(matrix.bytes, 0);
  const int64_t blocks = known(matrix.bytes, 1);
  const int64_t depth = known(x, -1);
  const bool has_routine = bytes % word == 0 && block <= FewBitsRoutine::kMostBlock && is_float(x.dtype()) &&
                           x.dtype() != Dtype::f64 && matrix.scales.dtype() != Dtype::f64 &&
                           depth > (blocks - 1) * block && (!matrix.zeros || matrix.zeros->dtype() == Dtype::u8);
  if (!has_routine) {
    const Panels panels(columns, std::clamp<int64_t>(columns, 1, kPanel));
    const Value scales = expand_dims(panels.of(matrix.scales), {2});
    const Value zeros = matrix.zeros ? expand_dims(panels.of(block_zeros(matrix)), {2}) : Value();
    return cast(product_of_panels(left == LeftOperand::bytes ? rounded_blocks(x, block) : x,
                                  {matrix.bits, matrix.code, panels.of(matrix.bytes), scales, zeros}, columns),
                x.dtype());
  }
  const Panels panels(columns, FewBitsRoutine::kPanel);
  const Value words = panels.of(
      known_array(matrix.bytes) ? constant(known_array(matrix.bytes)->reshaped({columns, blocks, bytes / word, word}))
                                : reshape(matrix.bytes, {columns, blocks, bytes / word, word}),
      1);
  std::vector<NamedPart> parts = {
      {"x", cast(x, Dtype::f32)}, {"words", words}, {"scales", panels.of(as_f32(matrix.scales))}};
  if (matrix.zeros) {
    parts.push_back({"zeros", panels.of(block_zeros(matrix))});
  }
  const FewBitsRoutine routine{.bits = matrix.bits, .rounds = left == LeftOperand::bytes, .code = matrix.code};
  const Value product =
      composite_of(body_name(routine), parts, [&](const Parts& v) { return body_of(routine, v, columns); });
  return cast(product, x.dtype());
}

std::optional<FewBitsRoutine> few_bits_routine(const Graph& body) {
  const std::vector<Value>& operands = body.inputs();
  const Value& result = body.outputs().front().value;
  const bool may_be = (operands.size() == 3 || operands.size() == 4) && operands[1].rank() == 5 && result.rank() > 0 &&
                      result.extent(-1).constant();
  if (!may_be) {
    return std::nullopt;
  }
  for (const FewBitsRoutine& routine : all_routines()) {
    if (body.name() == body_name(routine)) {
      // A name is no proof: the body is the one that is made of such operands, or it means something else.
      const Value y = body_of(routine, operands, *result.extent(-1).constant());
      return body == Graph(body.name(), operands, {{"y", y}}) ? std::optional(routine) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace tenon
