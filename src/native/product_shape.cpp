#include "native/product_shape.h"

#include <algorithm>

namespace tenon::codegen {
namespace {

constexpr int kSquareBytes = 8;  // of depth, in each row and column

void choose_integers(ProductShape& shape, const ProductTypes& types, const Target& target) {
  const bool x86 = target.triple.starts_with("x86_64");
  const bool mixed = types.left != types.right;
  if (target.i8_matmul) {
    shape.form = ProductForm::squares;
    shape.left = types.left;
    shape.right = types.right;
    shape.step = kSquareBytes;
  } else if (target.i8_dot) {
    // Intel's instruction takes one signed and one unsigned byte, ARM's first ones two alike.
    shape.flips = x86 ? !mixed : mixed;
    shape.form = ProductForm::bytes;
    shape.left = !shape.flips ? types.left : types.left == Dtype::i8 ? Dtype::u8 : Dtype::i8;
    shape.right = types.right;
    shape.step = kBytesTogether;
  } else if (x86) {
    shape.form = ProductForm::pairs;
    shape.left = shape.right = Dtype::i16;
    shape.step = 2;
  } else {
    shape.form = ProductForm::words;
    shape.left = shape.right = Dtype::i32;
  }
}

void choose_tiles(ProductShape& shape, const ProductTypes& types, const Target& target) {
  shape.bits = shape.form == ProductForm::floats && target.sve_bits > 0 ? target.sve_bits : target.vector_bits;
  shape.lanes = shape.bits / static_cast<int>(8 * byte_size(types.tile));
  shape.masks = shape.bits == 512;
  const bool many = target.vector_registers >= 32;
  shape.vectors = many && target.vector_bits == 128 ? 3 : 2;
  shape.rows = !many ? (target.vector_bits == 256 ? 6 : 4) : target.vector_bits == 512 ? 14 : 8;
  // Few rows: wide tiles, so that enough sums are under way and the right operand is read in long runs.
  const int sums = many ? 24 : 12;
  // Few columns: high ones, for the same reason.
  const int tall_rows = many ? 16 : 12;
  shape.widths.resize(static_cast<size_t>(tall_rows) + 1, {1});
  for (int rows = 1; rows <= shape.rows; ++rows) {
    std::vector<int>& widths = shape.widths[static_cast<size_t>(rows)];
    for (int each = 2; each <= shape.vectors; ++each) {
      widths.push_back(each);
    }
    for (const int each : {2 * shape.vectors, 6 * shape.vectors}) {
      const int width = std::min(each, sums / shape.sums(rows, 1));
      if (width > widths.back()) widths.push_back(width);
    }
  }
  // Tiles of two panels would spend on widening what they save on loads.
  const bool widens = types.left != types.tile || has_narrow_right(types);
  if (!widens && shape.masks) shape.pair_rows = sums / (2 * shape.vectors);
  if (!widens) {
    shape.dot_columns = many ? std::vector{0, 8, 8, 4, 4} : std::vector{0, 8, 4, 4, 2};
    for (int& columns : shape.dot_columns) {
      columns = std::min(columns, shape.lanes);
    }
  }
}

}  // namespace

ProductShape product_shape(const ProductTypes& types, const Target& target) {
  ProductShape shape;
  if (is_integer(types.tile)) {
    choose_integers(shape, types, target);
  } else {
    shape.left = types.tile;
    shape.right = types.right;
  }
  choose_tiles(shape, types, target);
  return shape;
}

bool has_float_squares(const ProductTypes& types, const Target& target) {
  return target.bf16_matmul && target.sve_bits == 0 && types.left == Dtype::bf16 && types.right == Dtype::bf16;
}

ProductShape float_squares_shape(const ProductTypes& types, const Target& target) {
  ProductShape shape;
  shape.form = ProductForm::squares;
  shape.left = types.left;
  shape.right = types.right;
  shape.step = kSquareBytes / static_cast<int>(byte_size(types.right));
  choose_tiles(shape, types, target);
  return shape;
}

bool has_matrix_unit(const ProductTypes& types, const Target& target) {
  const auto has = [&](const char* feature) { return target.features.find(feature) != std::string::npos; };
  return is_integer(types.tile) ? has("+amx-int8") : types.left == Dtype::bf16 && has("+amx-bf16");
}

ProductShape matrix_shape(const ProductTypes& types, const Target& target) {
  ProductShape shape = product_shape(types, target);
  shape.flips = false;
  shape.left = types.left;
  shape.right = types.right;
  shape.step = static_cast<int>(4 / byte_size(types.right));
  return shape;
}

}  // namespace tenon::codegen
