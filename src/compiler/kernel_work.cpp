#include "compiler/kernel_work.h"

#include <algorithm>

#include "kernel/scalar/prim_cost.h"

namespace tenon::compiler {
namespace {

/// Moves, comparisons and choices are no arithmetic; nor is what a multiply-add can do on the way.
double operations_of(const loops::Compute& compute) {
  switch (compute.prim) {
    case Prim::argument:
    case Prim::constant:
    case Prim::cast:
    case Prim::reinterpret:
    case Prim::neg:
    case Prim::abs:
    case Prim::floor:
    case Prim::round:
    case Prim::eq:
    case Prim::lt:
    case Prim::le:
    case Prim::bit_and:
    case Prim::bit_or:
    case Prim::bit_xor:
    case Prim::shl:
    case Prim::shr:
    case Prim::select: return 0;
    case Prim::add:
    case Prim::sub:
    case Prim::mul:
    case Prim::div:
    case Prim::min:
    case Prim::max:
    case Prim::sqrt: return 1;
    default: return cost(compute.prim, compute.operand_dtype);
  }
}

class WorkCount {
 public:
  WorkCount(const loops::Kernel& kernel, const Bindings& bindings) : kernel_(kernel), bindings_(bindings) {
    for (const auto& [name, extent] : kernel.arguments) {
      bindings_.set(name, evaluate(extent, bindings));
    }
    work_.reads.resize(kernel.buffers.size());
    work_.writes.resize(kernel.buffers.size());
  }

  KernelWork run() {
    for (const loops::Phase& phase : kernel_.phases) {
      walk(phase.body, trips(phase.grid));
    }
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const auto elements = static_cast<double>(evaluate(kernel_.buffers[i].elements, bindings_));
      work_.reads[i] = std::min(work_.reads[i], elements);
      work_.writes[i] = std::min(work_.writes[i], elements);
    }
    return std::move(work_);
  }

 private:
  /// Of a tile, the mean: all tiles together have as many elements as there are.
  double trips(int axis) const {
    const loops::Axis& found = at(kernel_.axes, axis);
    if (found.tile_of < 0) {
      return static_cast<double>(evaluate(found.extent, bindings_));
    }
    const double tiles = trips(found.tile_of);
    return tiles > 0 ? static_cast<double>(evaluate(found.total, bindings_)) / tiles : 0;
  }

  double trips(const std::vector<int>& axes) const {
    double all = 1;
    for (const int axis : axes) {
      all *= trips(axis);
    }
    return all;
  }

  template <class T>
  static T& at(std::vector<T>& list, int i) {
    return list.at(static_cast<size_t>(i));
  }
  template <class T>
  static const T& at(const std::vector<T>& list, int i) {
    return list.at(static_cast<size_t>(i));
  }

  void add(Dtype dtype, double operations) {
    if (is_float(dtype)) {
      (dtype == Dtype::f64 ? work_.operations.f64 : work_.operations.f32) += operations;
    }
  }

  void add(const loops::Product& product, double times) {
    const double rows = trips(product.rows);
    const double columns = trips(product.columns);
    const double depth = trips(product.depth);
    const ProductTypes types = types_of(kernel_, product);
    const double operations = 2 * times * rows * columns * depth;
    if (is_byte_product(types)) {
      work_.operations.i8 += operations;
    } else if (types.left == Dtype::bf16 && types.right == Dtype::bf16) {
      work_.operations.bf16 += operations;
    } else {
      add(types.tile, operations);
    }
    at(work_.reads, product.left.buffer) += times * rows * depth;
    at(work_.reads, product.right.buffer) += times * columns * depth;
    at(work_.writes, product.tile.buffer) += times * rows * columns;
  }

  void walk(const loops::Block& block, double times) {
    for (const loops::Statement& statement : block) {
      if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
        walk(loop->body, loop->unless >= 0 ? 0 : loop->digit ? times : times * trips(loop->axis));
      } else if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
        const loops::Value& value = at(kernel_.values, define->value);
        if (const auto* load = std::get_if<loops::Load>(&value.what)) {
          at(work_.reads, load->buffer) += times;
        } else if (const auto* compute = std::get_if<loops::Compute>(&value.what)) {
          add(compute->operand_dtype, times * operations_of(*compute));
        }
      } else if (const auto* store = std::get_if<loops::Store>(&statement.what)) {
        at(work_.writes, store->buffer) += times;
      } else if (const auto* accumulate = std::get_if<loops::Accumulate>(&statement.what)) {
        add(at(kernel_.accumulators, accumulate->accumulator).dtype, times);
      } else if (const auto* product = std::get_if<loops::Product>(&statement.what)) {
        add(*product, times);
      }
    }
  }

  const loops::Kernel& kernel_;
  Bindings bindings_;
  KernelWork work_;
};

}  // namespace

Operations& Operations::operator+=(const Operations& other) {
  f32 += other.f32;
  f64 += other.f64;
  bf16 += other.bf16;
  i8 += other.i8;
  return *this;
}

Operations Operations::times(double count) const {
  return {.f32 = f32 * count, .f64 = f64 * count, .bf16 = bf16 * count, .i8 = i8 * count};
}

KernelWork work_at(const loops::Kernel& kernel, const Bindings& bindings) { return WorkCount(kernel, bindings).run(); }

}  // namespace tenon::compiler
