// Contract: each side's gradient is the contraction of the result's gradient with the other side.
#include <algorithm>

#include "ops/axes.h"
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// One operand of a contraction, and the axes of the result's gradient that are its free axes.
struct Side {
  const Value& value;
  const std::vector<int>& batch;
  const std::vector<int>& contracted;
  int first_free = 0;  // in the result

  std::vector<int> free() const { return other_axes(value.rank(), batch, contracted); }
};

std::vector<int> count_from(int first, size_t count) {
  std::vector<int> axes;
  for (size_t i = 0; i < count; ++i) {
    axes.push_back(first + static_cast<int>(i));
  }
  return axes;
}

/// The gradient of `own`, given that of the result.
Value side_gradient(const Side& own, const Side& other, const Value& g) {
  const std::vector<int> other_free = other.free();
  const Value product = make(Contract{.lhs_batch = count_from(0, own.batch.size()),
                                      .rhs_batch = other.batch,
                                      .lhs_contract = count_from(other.first_free, other_free.size()),
                                      .rhs_contract = other_free,
                                      .dtype = g.dtype()},
                             {g, cast(other.value, g.dtype())});
  // The product has the batch axes, own free axes, then the contracted axes in the order the other side has them.
  std::vector<int> order(static_cast<size_t>(own.value.rank()));
  int next = 0;
  for (const int axis : own.batch) {
    order[static_cast<size_t>(axis)] = next++;
  }
  for (const int axis : own.free()) {
    order[static_cast<size_t>(axis)] = next++;
  }
  std::vector<size_t> pairs(own.contracted.size());
  for (size_t k = 0; k < pairs.size(); ++k) {
    pairs[k] = k;
  }
  std::ranges::sort(pairs, {}, [&](size_t k) { return other.contracted[k]; });
  for (const size_t k : pairs) {
    order[static_cast<size_t>(own.contracted[k])] = next++;
  }
  return cast(order.empty() ? product : transpose(product, order), own.value.dtype());
}

}  // namespace

Gradients gradient(const Contract& op, const Node& node, const std::vector<Value>& outputs) {
  const int batch = static_cast<int>(op.lhs_batch.size());
  Side lhs{.value = node.inputs[0], .batch = op.lhs_batch, .contracted = op.lhs_contract, .first_free = batch};
  Side rhs{.value = node.inputs[1], .batch = op.rhs_batch, .contracted = op.rhs_contract};
  rhs.first_free = batch + static_cast<int>(lhs.free().size());
  return {side_gradient(lhs, rhs, outputs[0]), side_gradient(rhs, lhs, outputs[0])};
}

}  // namespace tenon
