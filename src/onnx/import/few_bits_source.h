// Matrices of numbers of a few bits that DequantizeLinear or Cast was given, and products by them that keep the bits.
#pragma once

#include <memory>
#include <optional>

#include "onnx/import/node_call.h"

namespace tenon::importer {

/// Numbers as a file has them, known when the model is imported: an element is (number - zero) * scale.
struct FewBitsSource {
  Array numbers;  // i8 or u8, two axes
  Format format = Format::plain;
  Array scales;  // one; or one for each element of `axis`; or one for each block along it
  std::optional<Array> zeros = {};
  int axis = 1;
  int64_t block = 0;  // 0: none
  bool is_transposed = false;

  std::shared_ptr<const FewBitsSource> transposed() const;
};

/// What the operands 0, 1 and 2 of DequantizeLinear are, or operand 0 of a Cast to floats; null for anything that is
/// not known, is small, or has a byte for each number and one scale for a column anyhow.
std::shared_ptr<const FewBitsSource> few_bits_source(const NodeCall& call, int axis, int64_t block);
std::shared_ptr<const FewBitsSource> few_bits_source_of_cast(const NodeCall& call);

/// x times such a matrix (or its transpose) by product_of_few_bits(); nothing for any other item, and for scales that
/// change along columns but not block by block.
std::optional<Value> few_bits_product(const NodeCall& call, const Value& x, const Item& matrix, bool is_transposed);

/// Integers of fewer than eight bits as one packs them, a whole number of bytes for each row of the last axis; signed
/// ones less the lowest. Nothing for other numbers.
std::optional<Array> packed(const Array& numbers, Format format);

}  // namespace tenon::importer
