#include "kernel/facts/work.h"

#include <algorithm>

#include "kernel/scalar/prim_cost.h"

namespace tenon::loops {
namespace {

constexpr int64_t kScattered = 16;
constexpr int64_t kOperand = 4;  // an element of an operand that is used once, from a second cache

/// Elements that the lanes of a vector find apart from one another come one by one, and each with a line of its own.
bool is_scattered(const Kernel& kernel, const Load& load) {
  return !load.lookups.empty() || std::ranges::any_of(load.at.terms, [&](const Term& term) {
    return kernel.axes.at(static_cast<size_t>(term.axis)).binding == Binding::lanes && term.scale != Extent(1);
  });
}

int64_t bytes_of(Dtype dtype) { return static_cast<int64_t>(byte_size(dtype)); }

int64_t bytes_of(const Kernel& kernel, int buffer) {
  return bytes_of(kernel.buffers.at(static_cast<size_t>(buffer)).dtype);
}

int64_t cost_of(const Kernel& kernel, const Value& value) {
  if (const auto* load = std::get_if<Load>(&value.what)) {
    return is_scattered(kernel, *load) ? kScattered * bytes_of(Dtype::f32) : bytes_of(kernel, load->buffer);
  }
  const auto* compute = std::get_if<Compute>(&value.what);
  return compute == nullptr ? bytes_of(value.dtype)
                            : cost(compute->prim, compute->operand_dtype) *
                                  std::max(bytes_of(value.dtype), bytes_of(compute->operand_dtype));
}

/// How often an axis runs; of tiles, the longest one.
Extent trips(const Kernel& kernel, int axis) {
  const Axis& found = kernel.axes.at(static_cast<size_t>(axis));
  return found.tile_of < 0 ? found.extent : min(found.extent, found.total);
}

/// Multiply-adds of registers full of elements, two at once. With few rows or columns it waits for the larger operand,
/// each element of which takes as long as several.
Extent work_of(const Kernel& kernel, const Product& product) {
  const auto count = [&](const std::vector<int>& axes) {
    Extent steps = 1;
    for (const int axis : axes) {
      steps *= trips(kernel, axis);
    }
    return steps;
  };
  const Extent rows = count(product.rows);
  const Extent columns = count(product.columns);
  const int64_t bytes = std::max(bytes_of(kernel, product.left.buffer), bytes_of(kernel, product.right.buffer));
  return bytes * count(product.depth) * max(rows * columns, kOperand * max(rows, columns));
}

Extent work_of(const Kernel& kernel, const Block& block) {
  int64_t here = 0;
  Extent inside = 0;
  for (const Statement& statement : block) {
    if (const auto* loop = std::get_if<Loop>(&statement.what)) {
      const Extent times = loop->unless >= 0 ? 0 : loop->digit ? 1 : trips(kernel, loop->axis);
      inside += times * work_of(kernel, loop->body);
    } else if (const auto* define = std::get_if<Define>(&statement.what)) {
      here += cost_of(kernel, kernel.values.at(static_cast<size_t>(define->value)));
    } else if (const auto* product = std::get_if<Product>(&statement.what)) {
      inside += work_of(kernel, *product);
    } else if (const auto* store = std::get_if<Store>(&statement.what)) {
      here += bytes_of(kernel, store->buffer);
    } else if (const auto* accumulate = std::get_if<Accumulate>(&statement.what)) {
      const int accumulator = accumulate->accumulator;
      here += bytes_of(kernel.accumulators.at(static_cast<size_t>(accumulator)).dtype);
    }
  }
  return inside + here;
}

}  // namespace

Extent work(const Kernel& kernel, const Phase& phase) { return work_of(kernel, phase.body); }

bool is_copy(const Kernel& kernel) {
  return kernel.accumulators.empty() && std::all_of(kernel.values.begin(), kernel.values.end(), [](const auto& value) {
           const auto* load = std::get_if<Load>(&value.what);
           return load != nullptr && load->lookups.empty();
         });
}

}  // namespace tenon::loops
