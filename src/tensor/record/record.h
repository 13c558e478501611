// Recording: from tensors and a builder to tensors. Nothing runs.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tensor/record/cell.h"

namespace tenon::tensors {

/// Whether what is computed on this thread passes gradients on.
bool& grad_mode();

/// How operands are handed to a builder. Symbols of sizes stay; where they do not fit, though the sizes do, the builder
/// is called again with numbers.
enum class Sizes : uint8_t { symbols, numbers };

/// The value that operations see: while gradients are off, one that passes none on.
Value read(const Tensor& tensor, Sizes sizes = Sizes::symbols);

/// Whether what a node needs of sizes holds at those of its symbols.
bool all_hold(const Node& node);

/// What `build` makes of values that it gets by read() from `operands`, as tensors of their own. An Error of the
/// builder, or of a constraint that the sizes break, is thrown here and not when something runs.
std::vector<Tensor> record(std::span<const Tensor> operands, const std::function<std::vector<Value>(Sizes)>& build);
/// Tensors that see the cell of `base` through the views by which `build` makes its results from base's value.
std::vector<Tensor> record_views(const Tensor& base, const std::function<std::vector<Value>(const Value&)>& build);

/// The tensor's elements become those of `value`, which has been recorded and has its shape and dtype.
void write(const Tensor& to, const Tensor& value);

/// Called before an operation is recorded upon more than kMostPending others, by what the cells say, who do not hear
/// that something below them was computed: counts, and computes the operands where it is so. Defined in realize/.
void limit_pending(std::span<const Tensor> operands);

}  // namespace tenon::tensors
