// Loop kernels by hand, so that a test reads like the printed kernel.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernel/loop/loop.h"

namespace tenon {

/// The canonical affine of any terms: sorted, an axis once, no scale 0.
loops::Affine affine(std::vector<loops::Term> terms, const Extent& base = 0);

/// Adds to one kernel. Loops and phases take their body as a function; statements go to the innermost open body.
/// Values, axes, buffers and accumulators are their positions in the kernel.
class LoopBuilder {
 public:
  using Body = std::function<void()>;

  explicit LoopBuilder(std::string name) { kernel_.name = std::move(name); }

  int axis(std::string name, Extent extent);
  int vector_axis(std::string name, Extent extent);
  int tile(std::string name, Extent extent, int tile_of, Extent total, bool vectorized);
  int buffer(Dtype dtype, loops::Role role, Extent elements);
  int input(Dtype dtype, Extent elements) { return buffer(dtype, loops::Role::input, std::move(elements)); }
  int output(Dtype dtype, Extent elements) { return buffer(dtype, loops::Role::output, std::move(elements)); }
  int site(std::string text);

  void phase(std::vector<int> grid, const Body& body);
  void loop(int axis, std::vector<int> begins, const Body& body);
  void loop(int axis, const Body& body) { loop(axis, {}, body); }
  void loop_unless(int axis, int holds, const Body& body);

  int load(int buffer, loops::Affine at, std::vector<loops::Bound> inside = {},
           std::vector<loops::Lookup> lookups = {});
  int position(loops::Affine at);
  int constant(Dtype dtype, double literal);
  int cast(int value, Dtype to);
  int compute(Prim prim, std::vector<int> operands);
  void store(int buffer, loops::Affine at, int value, std::vector<loops::Bound> inside = {});
  void product(loops::Product product) { add({std::move(product)}); }

  /// An accumulator is fed by accumulate() alone, which decides its input; result() is used after its loop.
  int accumulator(ReduceOp op, Dtype dtype);
  void accumulate(int accumulator, int value, int position = -1);
  int result(int accumulator);
  /// A loop with one accumulator: `body` gives what is combined. Not for argmax and argmin.
  int reduce(int axis, ReduceOp op, Dtype dtype, const std::function<int()>& body);

  loops::Kernel& kernel() { return kernel_; }

 private:
  int define(loops::Value value);
  void add(loops::Statement statement);

  loops::Kernel kernel_;
  std::vector<loops::Block> open_;
};

}  // namespace tenon
