#include "onnx/import/few_bits_source.h"

#include <algorithm>

#include "onnx/import/narrow_float.h"
#include "ops/builders/few_bits.h"

namespace tenon::importer {
namespace {

constexpr int64_t kFewElements = 4096;  // which stay in cache anyhow
constexpr int64_t kMostBlock = FewBitsRoutine::kMostBlock;
constexpr int64_t kUsualBlock = 128;  // where one scale is for a whole column

bool is_signed(const FewBitsSource& source) { return source.numbers.dtype() == Dtype::i8; }

/// Integers less the lowest, as numbers without sign.
int half_of(const FewBitsSource& source) { return is_signed(source) ? 1 << (bits_of(source.format) - 1) : 0; }

uint8_t code_at(const Array& numbers, size_t i, int half) {
  return numbers.dtype() == Dtype::i8 ? static_cast<uint8_t>(numbers.values<int8_t>()[i] + half)
                                      : numbers.values<uint8_t>()[i];
}

/// Along the columns that a product sums up.
struct Columns {
  int64_t depth = 0;
  int64_t count = 0;
  int64_t depth_stride = 0;  // of elements in the source
  int64_t column_stride = 0;
  int64_t block = 0;
  int64_t blocks = 0;

  size_t at(int64_t k, int64_t column) const { return static_cast<size_t>(k * depth_stride + column * column_stride); }
};

/// The longest part of a block whose numbers fill whole words; 0 for none.
int64_t part_of_block(int64_t block, int bits) {
  for (int64_t part = std::min(block, kMostBlock); part > 0; --part) {
    if (block % part == 0 && part * bits % 32 == 0) {
      return part;
    }
  }
  return 0;
}

std::optional<Columns> columns_of(const FewBitsSource& source, bool is_transposed) {
  const int along = (is_transposed != source.is_transposed) ? 1 : 0;
  const std::vector<int64_t>& dims = source.numbers.dims();
  const bool is_along = source.axis == along;
  if (source.scales.size() > 1 && (is_along ? source.block == 0 : source.block > 0)) {
    return std::nullopt;
  }
  Columns columns{.depth = dims[static_cast<size_t>(along)], .count = dims[static_cast<size_t>(1 - along)]};
  columns.depth_stride = along == 0 ? dims[1] : 1;
  columns.column_stride = along == 0 ? 1 : dims[1];
  const bool is_blocked = is_along && source.block > 0 && source.scales.size() > 1;
  columns.block = is_blocked ? part_of_block(source.block, bits_of(source.format)) : kUsualBlock;
  if (columns.block == 0) {
    return std::nullopt;
  }
  columns.blocks = (columns.depth + columns.block - 1) / columns.block;
  return columns;
}

/// Which scale or zero point is that of a block of a column.
size_t place_of(const Array& parameters, const FewBitsSource& source, const Columns& columns, int64_t block,
                int64_t column) {
  if (parameters.size() == 1) {
    return 0;
  }
  if (source.block == 0) {
    return static_cast<size_t>(column);
  }
  const int64_t of_axis = block * columns.block / source.block;
  const int64_t last = parameters.dims().back();
  return static_cast<size_t>(source.axis == 0 ? of_axis * last + column : column * last + of_axis);
}

Array packed_columns(const FewBitsSource& source, const Columns& columns) {
  const int bits = bits_of(source.format);
  const int64_t parts = 8 / bits;
  const int64_t bytes = columns.block / parts;
  Array result = Array::full(Dtype::u8, {columns.count, columns.blocks, bytes}, 0);
  const auto to = result.mutable_values<uint8_t>();
  const int half = half_of(source);
  constexpr int64_t together = 64;  // columns, whose rows in the file are read at once
  for (int64_t first = 0; first < columns.count; first += together) {
    for (int64_t k = 0; k < columns.depth; ++k) {
      for (int64_t column = first; column < std::min(columns.count, first + together); ++column) {
        const uint8_t code = code_at(source.numbers, columns.at(k, column), half);
        uint8_t& byte = to[static_cast<size_t>(column * columns.blocks * bytes + k / parts)];
        byte = static_cast<uint8_t>(byte | code << (k % parts * bits));
      }
    }
  }
  return result;
}

NumberCode number_code(Format format) { return is_narrow_float(format) ? code_of(format) : NumberCode::integer; }

FewBits matrix_of(const FewBitsSource& source, const Columns& columns) {
  Array scales = Array::uninitialized(Dtype::f32, {columns.count, columns.blocks});
  Array zeros = Array::full(Dtype::f32, {columns.count, columns.blocks}, 0);
  const int bits = bits_of(source.format);
  const int half = half_of(source);
  bool are_halves = true;
  for (int64_t column = 0; column < columns.count; ++column) {
    for (int64_t block = 0; block < columns.blocks; ++block) {
      const auto i = static_cast<size_t>(column * columns.blocks + block);
      scales.mutable_values<float>()[i] = static_cast<float>(
          source.scales.at(static_cast<int64_t>(place_of(source.scales, source, columns, block, column))));
      const int zero = half + (source.zeros ? static_cast<int>(source.zeros->at(static_cast<int64_t>(
                                                  place_of(*source.zeros, source, columns, block, column))))
                                            : 0);
      zeros.mutable_values<float>()[i] = static_cast<float>(zero);
      are_halves = are_halves && zero == 1 << (bits - 1);
    }
  }
  FewBits matrix{.bits = bits,
                 .bytes = constant(packed_columns(source, columns)),
                 .scales = constant(std::move(scales)),
                 .zeros = std::nullopt,
                 .code = number_code(source.format)};
  if (matrix.code == NumberCode::integer && !are_halves) {
    matrix.zeros = constant(*packed(zeros.cast(Dtype::u8), bits == 2   ? Format::uint2
                                                           : bits == 4 ? Format::uint4
                                                                       : Format::plain));
  }
  return matrix;
}

std::shared_ptr<const FewBitsSource> source_of(FewBitsSource source) {
  const Format format = source.format;
  const bool is_right = source.numbers.rank() == 2 && source.numbers.size() >= kFewElements && format != Format::e8m0 &&
                        (source.numbers.dtype() == Dtype::u8 || source.numbers.dtype() == Dtype::i8) &&
                        (format != Format::plain || source.block > 0) &&
                        (!source.zeros || (!is_narrow_float(format) && source.zeros->size() == source.scales.size() &&
                                           source.zeros->dtype() == source.numbers.dtype()));
  return is_right ? std::make_shared<const FewBitsSource>(std::move(source)) : nullptr;
}

/// As many as the axis has elements or blocks.
bool has_all(const Array& parameters, const Array& numbers, int axis, int64_t block) {
  if (parameters.size() == 1) {
    return true;
  }
  std::vector<int64_t> dims = numbers.dims();
  int64_t& along = dims[static_cast<size_t>(axis)];
  if (block == 0) {
    return parameters.rank() == 1 && parameters.size() == along;
  }
  along = (along + block - 1) / block;
  return parameters.dims() == dims;
}

}  // namespace

std::shared_ptr<const FewBitsSource> FewBitsSource::transposed() const {
  auto result = std::make_shared<FewBitsSource>(*this);
  result->is_transposed = !is_transposed;
  return result;
}

std::shared_ptr<const FewBitsSource> few_bits_source(const NodeCall& call, int axis, int64_t block) {
  const auto numbers = call.known_array(call.x(0));
  const Format of_scale = call.item(1).format;
  const auto scales =
      call.known_array(is_narrow_float(of_scale) ? decoded(call.x(1), of_scale) : cast(call.x(1), Dtype::f32));
  const auto zeros = call.has(2) ? call.known_array(call.x(2)) : std::nullopt;
  if (!numbers || numbers->rank() != 2 || !scales || (call.has(2) && !zeros) || axis < -2 || axis > 1) {
    return nullptr;
  }
  const int along = axis < 0 ? axis + 2 : axis;
  if (!has_all(*scales, *numbers, along, block) || (zeros && !has_all(*zeros, *numbers, along, block))) {
    return nullptr;
  }
  // Zero points of floats are 0, as the operator has it.
  const bool has_zeros = zeros && !is_narrow_float(call.item(0).format);
  return source_of({.numbers = *numbers,
                    .format = call.item(0).format,
                    .scales = *scales,
                    .zeros = has_zeros ? zeros : std::nullopt,
                    .axis = along,
                    .block = block});
}

std::shared_ptr<const FewBitsSource> few_bits_source_of_cast(const NodeCall& call) {
  const auto numbers = call.known_array(call.x(0));
  if (!numbers || call.item(0).format == Format::plain) {
    return nullptr;
  }
  return source_of({.numbers = *numbers, .format = call.item(0).format, .scales = Array::full(Dtype::f32, {1}, 1)});
}

std::optional<Value> few_bits_product(const NodeCall& call, const Value& x, const Item& matrix, bool is_transposed) {
  const bool may_be = matrix.few_bits != nullptr && x.rank() >= 2 && is_float(x.dtype()) && x.dtype() != Dtype::f64 &&
                      x.dtype() == matrix.value.dtype();
  const auto columns = may_be ? columns_of(*matrix.few_bits, is_transposed) : std::nullopt;
  if (!columns || compare(x.extent(-1), columns->depth) == Comparison::different) {
    return std::nullopt;
  }
  call.require_equal(x.extent(-1), columns->depth);
  std::vector<Axis> axes = x.shape().axes();
  axes.back() = Axis(columns->depth);
  return product_of_few_bits(x.extent(-1).constant() ? x : reshape(x, axes), matrix_of(*matrix.few_bits, *columns));
}

std::optional<Array> packed(const Array& numbers, Format format) {
  const int bits = bits_of(format);
  if (is_narrow_float(format) || numbers.rank() == 0 ||
      (numbers.dtype() != Dtype::u8 && numbers.dtype() != Dtype::i8)) {
    return std::nullopt;
  }
  const int64_t parts = 8 / bits;
  const int half = numbers.dtype() == Dtype::i8 ? 1 << (bits - 1) : 0;
  std::vector<int64_t> dims = numbers.dims();
  const int64_t row = dims.back();
  dims.back() = (row + parts - 1) / parts;
  Array result = Array::full(Dtype::u8, dims, 0);
  const auto to = result.mutable_values<uint8_t>();
  for (int64_t i = 0; i < numbers.size(); ++i) {
    uint8_t& byte = to[static_cast<size_t>(i / row * dims.back() + i % row / parts)];
    byte = static_cast<uint8_t>(byte | code_at(numbers, static_cast<size_t>(i), half) << (i % row % parts * bits));
  }
  return result;
}

}  // namespace tenon::importer
