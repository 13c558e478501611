// Fused operators of the domain com.microsoft that exporters of transformers write.
#include "base/refused.h"
#include "onnx/import/few_bits_source.h"
#include "onnx/import/registry.h"
#include "ops/builders/few_bits.h"
#include "tenon/indexing.h"
#include "tenon/nn.h"

namespace tenon::importer {
namespace {

Value swap_last(const Value& x) {
  if (x.rank() < 2) {
    refuse("a matrix has {} axes", x.rank());
  }
  Axes order;
  for (int i = 0; i < x.rank(); ++i) {
    order.push_back(i);
  }
  std::swap(order.at(order.size() - 2), order.back());
  return transpose(x, order);
}

/// Axis 0 of the matrix, then the batch: the batch first.
Value batch_first(const Value& x) {
  Axes order;
  for (int i = 1; i + 1 < x.rank(); ++i) {
    order.push_back(i);
  }
  order.push_back(0);
  order.push_back(x.rank() - 1);
  return transpose(x, order);
}

Results fused_matmul(const NodeCall& call) {
  const auto operand = [&](size_t i, std::string_view swapped, std::string_view moved) {
    const Value x = call.flag(moved) ? batch_first(call.x(i)) : call.x(i);
    return call.flag(swapped) && x.rank() > 1 ? swap_last(x) : x;
  };
  const Value product = matmul(operand(0, "transA", "transBatchA"), operand(1, "transB", "transBatchB"));
  const double alpha = call.number_attribute("alpha", 1);
  return alpha == 1 ? product : product * alpha;
}

Value with_bias(const NodeCall& call, size_t bias) { return call.has(bias) ? call.x(0) + call.x(bias) : call.x(0); }

Results bias_gelu(const NodeCall& call) { return gelu(with_bias(call, 1)); }
Results fast_gelu(const NodeCall& call) { return gelu_tanh(with_bias(call, 1)); }

Results quick_gelu(const NodeCall& call) {
  const Value& x = call.x(0);
  return x * sigmoid(x * call.number_attribute("alpha", 1.702));
}

Results simplified_norm(const NodeCall& call) {
  return rms_norm(call.x(0), call.x(1), {call.axis("axis", -1)}, call.number_attribute("epsilon", 1e-5));
}

/// The sum of input, skip and bias is an output too, which the next layer skips from; moments are not given.
Results with_sum(const Value& normalized, const Value& sum) {
  return Items{Item(normalized), Item(), Item(), Item(sum)};
}

Results skip_norm(const NodeCall& call) {
  const Value joined = call.x(0) + call.x(1);
  const Value sum = call.has(4) ? joined + call.x(4) : joined;
  return with_sum(layer_norm(sum, call.x(2), call.x_or_none(3), {-1}, call.number_attribute("epsilon", 1e-12)), sum);
}

Results skip_simplified_norm(const NodeCall& call) {
  const Value joined = call.x(0) + call.x(1);
  const Value sum = call.has(3) ? joined + call.x(3) : joined;
  return with_sum(rms_norm(sum, call.x(2), {-1}, call.number_attribute("epsilon", 1e-12)), sum);
}

/// x times such a matrix where `order` has the block of each number of a column.
Value product_of_ordered_blocks(const Value& x, const FewBits& matrix, const Value& order) {
  const Dtype dtype = matrix.scales.dtype();
  const auto of_numbers = [&](const Value& each) { return take(each, order, 1); };
  const Value zeros = matrix.zeros ? of_numbers(cast(block_zeros(matrix), dtype))
                                   : scalar(dtype, static_cast<double>(int64_t{1} << (matrix.bits - 1)));
  const Value numbers =
      reshape(unpack_bits(matrix.bytes, matrix.bits), {matrix.bytes.shape().axis(0), Axis::anonymous()});
  const Value weights = (cast(slice_axis(numbers, 1, 0, x.extent(-1)), dtype) - zeros) * of_numbers(matrix.scales);
  return contract(x, cast(weights, x.dtype()), {.lhs_contract = {-1}, .rhs_contract = {1}});
}

/// Weights as numbers of a few bits, with a scale and a zero point for each block of a row.
Results matmul_bits(const NodeCall& call) {
  const int64_t depth = call.count_attribute("K", int64_t{1} << 40);
  const int64_t rows = call.count_attribute("N", int64_t{1} << 40);
  const int64_t bits = call.attribute("bits", 4);
  const int64_t block = call.count_attribute("block_size");
  if ((bits != 2 && bits != 4 && bits != 8) || block < 16) {
    refuse("weights of {} bits in blocks of {} are not supported", bits, block);
  }
  const Value& x = call.x(0);
  const int64_t blocks = (depth + block - 1) / block;
  if (compare(x.extent(-1), depth) == Comparison::different) {
    refuse("K is {}, the last axis of A is {}: {}", depth, x.extent(-1).to_string(), x.shape().to_string());
  }
  call.require_equal(x.extent(-1), depth);
  std::vector<Axis> of_known_depth = x.shape().axes();
  of_known_depth.back() = Axis(depth);
  const Value elements = x.extent(-1).constant() ? x : reshape(x, of_known_depth);
  const auto require_count = [&](size_t i, std::string_view what, int64_t of_block) {
    const Shape& has = call.x(i).shape();
    if (compare(has.element_count(), rows * blocks * of_block) == Comparison::different) {
      refuse("{} is {}, must be of N = {} rows of {} blocks of {}, which K = {} in blocks of {} takes", what,
             has.to_string(), rows, blocks, of_block, depth, block);
    }
  };
  require_count(1, "B", block * bits / 8);
  require_count(2, "scales", 1);
  const Value scales = reshape(call.x(2), {rows, blocks});
  std::optional<Value> zeros;
  if (call.has(3)) {
    const Value& given = call.x(3);
    // Packed ones fill whole bytes at the end of each row.
    zeros = reshape(given, {rows, given.dtype() == Dtype::u8 ? ceildiv(blocks * bits, 8) : blocks});
  }
  const Value bytes = reshape(call.x(1), {rows, blocks, block * bits / 8});
  // The least accuracy that x may have in the product: 4 is eight bits.
  const LeftOperand left = call.attribute("accuracy_level", 0) == 4 ? LeftOperand::bytes : LeftOperand::exact;
  const Value product = call.has(4) ? product_of_ordered_blocks(elements, {bits, bytes, scales, zeros}, call.x(4))
                                    : product_of_few_bits(elements, {bits, bytes, scales, zeros}, left);
  return call.has(5) ? product + call.x(5) : product;
}

/// Rows of a table of numbers of a few bits, with a scale and a zero point for each block along an axis.
Results gather_blocks(const NodeCall& call) {
  const int64_t block = call.attribute("block_size", 128);
  const int64_t bits = call.attribute("bits", 4);
  const Value& data = call.x(0);
  const bool is_packed = data.dtype() == Dtype::u8 && call.item(0).format == Format::plain;
  if (block < 16 || (is_packed && bits != 2 && bits != 4 && bits != 8)) {
    refuse("a table of {} bits in blocks of {} is not supported", bits, block);
  }
  const Value& scales = call.x(2);
  const int along = data.shape().normalize_axis(call.axis("quantize_axis", 1));
  const int from = data.shape().normalize_axis(call.axis("gather_axis", 0));
  const bool is_last = along + 1 == data.rank();
  if (is_packed && !is_last) {
    refuse("quantize_axis is {}, must be the last one of packed numbers: {}", along, data.shape().to_string());
  }
  if (scales.rank() != data.rank()) {
    refuse("the scales are {}, must have {} axes as the numbers have", scales.shape().to_string(), data.rank());
  }
  // Known integers of a few bits are packed as one packs them, so the table takes what its bits take.
  const std::optional<Array> known = is_packed || !is_last ? std::nullopt : call.known_array(data);
  const std::optional<Array> bytes = known ? packed(*known, call.item(0).format) : std::nullopt;
  const int64_t width = is_packed ? bits : bits_of(call.item(0).format);
  const Extent count = is_packed ? data.extent(along) * (8 / bits) : data.extent(along);
  call.require_equal(scales.extent(along), ceildiv(count, block));

  // Nothing but the rows that are taken is unpacked, unless they are cut out of blocks.
  const bool takes_first = from != along;
  const int axis = takes_first && along > from ? along - 1 + call.x(1).rank() : along;
  const auto rows = [&](const Value& x) { return takes_first ? take(x, call.x(1), from) : x; };
  const auto unpacked = [&](const Value& x, const Extent& most) {  // rows may fill whole bytes
    return slice_axis(unpack_bits(x, width), axis, 0, most);
  };
  /// Those of blocks, one for each number.
  const auto of_numbers = [&](const Value& each) {
    return slice_axis(repeat_interleave(each, block, axis), axis, 0, count);
  };
  const Dtype dtype = scales.dtype();
  const Value numbers = is_packed ? unpacked(rows(data), count)
                        : bytes   ? unpacked(rows(constant(*bytes)), count)
                                  : rows(data);
  Value result = cast(numbers, dtype);
  const bool is_shifted = bytes ? data.dtype() == Dtype::i8 : is_packed && !call.has(3);
  if (is_shifted) {
    result = result - static_cast<double>(int64_t{1} << (width - 1));
  }
  if (call.has(3)) {
    const Value zeros = rows(call.x(3));
    result = result - cast(of_numbers(is_packed ? unpacked(zeros, scales.extent(along)) : zeros), dtype);
  }
  result = result * of_numbers(rows(scales));
  return takes_first ? result : take(result, call.x(1), from);
}

}  // namespace

std::vector<OperatorEntry> microsoft_operators() {
  return {
      {kMicrosoft, "FusedMatMul", 1, fused_matmul},
      {kMicrosoft, "Gelu", 1, bias_gelu},
      {kMicrosoft, "BiasGelu", 1, bias_gelu},
      {kMicrosoft, "FastGelu", 1, fast_gelu},
      {kMicrosoft, "QuickGelu", 1, quick_gelu},
      {"", "SimplifiedLayerNormalization", 1, simplified_norm},  // written without the domain
      {kMicrosoft, "SkipLayerNormalization", 1, skip_norm},
      {kMicrosoft, "SkipSimplifiedLayerNormalization", 1, skip_simplified_norm},
      {kMicrosoft, "MatMulNBits", 1, matmul_bits},
      {kMicrosoft, "GatherBlockQuantized", 1, gather_blocks},
  };
}

}  // namespace tenon::importer
