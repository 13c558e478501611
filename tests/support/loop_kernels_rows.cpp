#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/loop_case_tools.h"

namespace tenon {

using namespace loop_case;

LoopCase softmax_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("softmax");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int x = k.input(f32, rows * cols);
  const int y = k.output(f32, rows * cols);
  const int unused = k.buffer(f64, loops::Role::scratch, 3);  // so that the next one does not begin at 0
  const int e = k.buffer(f32, loops::Role::scratch, cols);
  const loops::Affine at = affine({{r, cols}, {c, 1}});
  k.phase({r}, [&] {
    const int max = k.reduce(c, ReduceOp::max, f32, [&] { return k.load(x, at); });
    k.store(unused, affine({}, 2), k.constant(f64, 1));
    const int sum = k.reduce(c, ReduceOp::sum, f32, [&] {
      const int each = k.compute(Prim::exp, {k.compute(Prim::sub, {k.load(x, at), max})});
      k.store(e, affine({{c, 1}}), each);
      return each;
    });
    k.loop(c, [&] { k.store(y, at, k.compute(Prim::div, {k.load(e, affine({{c, 1}})), sum})); });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t p = 0; p < n.rows; ++p) {
      double sum = 0;
      for (int64_t q = 0; q < n.cols; ++q) {
        sum += std::exp(static_cast<double>(in<float>(buffers, 0, p * n.cols + q)));
      }
      for (int64_t i = p * n.cols; i < (p + 1) * n.cols; ++i) {
        out<float>(buffers, 1, i) = static_cast<float>(std::exp(static_cast<double>(in<float>(buffers, 0, i))) / sum);
      }
    }
    return KernelStatus{};
  };
  return {.name = "softmax", .kernel = k.kernel(), .reference = reference};
}

LoopCase layer_norm_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("layer_norm");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int x = k.input(f16, rows * cols);
  const int gain = k.input(bf16, cols);
  const int y = k.output(f16, rows * cols);
  const loops::Affine at = affine({{r, cols}, {c, 1}});
  k.phase({r}, [&] {
    const int sum = k.accumulator(ReduceOp::sum, f32);
    const int squares = k.accumulator(ReduceOp::sum, f32);
    k.loop(c, {sum, squares}, [&] {
      const int v = k.load(x, at);
      k.accumulate(sum, v);
      k.accumulate(squares, k.compute(Prim::mul, {v, v}));
    });
    const int count = k.cast(k.position(affine({}, cols)), f32);
    const int mean = k.compute(Prim::div, {k.result(sum), count});
    const int second = k.compute(Prim::div, {k.result(squares), count});
    const int variance = k.compute(Prim::sub, {second, k.compute(Prim::mul, {mean, mean})});
    const int deviation = k.compute(Prim::sqrt, {k.compute(Prim::add, {variance, k.constant(f32, 1)})});
    k.loop(c, [&] {
      const int normal = k.compute(Prim::div, {k.compute(Prim::sub, {k.load(x, at), mean}), deviation});
      k.store(y, at, k.compute(Prim::mul, {k.cast(normal, f16), k.load(gain, affine({{c, 1}}))}));
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t p = 0; p < n.rows; ++p) {
      double sum = 0;
      double squares = 0;
      for (int64_t i = p * n.cols; i < (p + 1) * n.cols; ++i) {
        const auto v = convert<double>(in<Half>(buffers, 0, i));
        sum += v;
        squares += v * v;
      }
      const auto count = static_cast<double>(n.cols);
      const double mean = sum / count;
      const double deviation = std::sqrt(squares / count - mean * mean + 1);
      for (int64_t i = p * n.cols; i < (p + 1) * n.cols; ++i) {
        const auto normal = convert<Half>((convert<double>(in<Half>(buffers, 0, i)) - mean) / deviation);
        const auto g = convert<float>(in<BFloat16>(buffers, 1, i % n.cols));
        out<Half>(buffers, 2, i) = convert<Half>(static_cast<float>(normal) * g);
      }
    }
    return KernelStatus{};
  };
  return {.name = "layer_norm", .kernel = k.kernel(), .reference = reference, .relative = 4e-3, .absolute = 4e-3};
}

LoopCase reduce_rows_case(ReduceOp op, Dtype dtype) {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("reduce_rows");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int x = k.input(dtype, rows * cols);
  const int y = k.output(dtype, rows);
  k.phase({r}, [&] {
    const int all = k.reduce(c, op, compute_dtype(dtype), [&] { return k.load(x, affine({{r, cols}, {c, 1}})); });
    k.store(y, affine({{r, 1}}), all);
  });
  const auto combine = [op]<class A>(A a, A b) -> A {
    switch (op) {
      case ReduceOp::sum: return static_cast<A>(a + b);
      case ReduceOp::product: return static_cast<A>(a * b);
      case ReduceOp::max:
      case ReduceOp::any: return a > b ? a : b;
      default: return a < b ? a : b;
    }
  };
  const auto reference = [op, dtype, combine](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    visit_dtype(dtype, [&]<class T>() {
      // uint64_t wraps as every integer type does, its low bits are theirs.
      using C = ComputeType<T>;
      using A = std::conditional_t<std::is_floating_point_v<C>, double,
                                   std::conditional_t<std::is_signed_v<C>, int64_t, uint64_t>>;
      constexpr bool kFloat = std::is_floating_point_v<C>;
      const A least = kFloat ? -std::numeric_limits<A>::infinity() : static_cast<A>(std::numeric_limits<C>::lowest());
      const A most = kFloat ? std::numeric_limits<A>::infinity() : static_cast<A>(std::numeric_limits<C>::max());
      const bool low = op == ReduceOp::max || op == ReduceOp::any;
      const A identity = op == ReduceOp::sum ? A{0} : op == ReduceOp::product ? A{1} : low ? least : most;
      for (int64_t p = 0; p < n.rows; ++p) {
        A result = identity;
        for (int64_t i = p * n.cols; i < (p + 1) * n.cols; ++i) {
          result = combine(result, convert<A>(in<T>(buffers, 0, i)));
        }
        out<T>(buffers, 1, p) = convert<T>(result);
      }
    });
    return KernelStatus{};
  };
  const auto prepare = [op, dtype](const Bindings&, auto& buffers) {
    if (op == ReduceOp::product) {  // signs alone, so that long products stay small
      visit_dtype(dtype, [&]<class T>() {
        for (T& each : buffers[0].template mutable_values<T>()) {
          each = convert<T>(convert<double>(each) < 0 ? -1.0 : 1.0);
        }
      });
    }
  };
  return {.name = fmt::format("{}_{}", name(op), name(dtype)),
          .kernel = k.kernel(),
          .reference = reference,
          .prepare = prepare,
          .relative = dtype == f16 || dtype == bf16 ? 1e-2 : 1e-5,
          .absolute = dtype == f16 || dtype == bf16 ? 1e-2 : 1e-4};
}

}  // namespace tenon
