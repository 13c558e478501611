#include <algorithm>

#include "support/loop_case_tools.h"

namespace tenon {

using namespace loop_case;

LoopCase column_sums_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("column_sums");
  const int t = k.axis("t", ceildiv(cols, 300));
  const int c = k.tile("c", 300, t, cols, true);
  const int r = k.axis("r", rows);
  const int x = k.input(f32, rows * cols);
  const int scale = k.input(f32, rows);
  const int y = k.output(f32, cols);
  k.phase({t}, [&] {
    k.loop(c, [&] {
      const int bias = k.cast(k.position(affine({{t, 300}, {c, 1}})), f32);
      const int sum = k.reduce(r, ReduceOp::sum, f32, [&] {
        return k.compute(Prim::mul,
                         {k.load(x, affine({{t, 300}, {r, cols}, {c, 1}})), k.load(scale, affine({{r, 1}}))});
      });
      k.store(y, affine({{t, 300}, {c, 1}}), k.compute(Prim::add, {sum, bias}));
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t q = 0; q < n.cols; ++q) {
      double sum = 0;
      for (int64_t p = 0; p < n.rows; ++p) {
        sum +=
            static_cast<double>(in<float>(buffers, 0, p * n.cols + q)) * static_cast<double>(in<float>(buffers, 1, p));
      }
      out<float>(buffers, 2, q) = static_cast<float>(sum + static_cast<double>(q));
    }
    return KernelStatus{};
  };
  return {.name = "column_sums", .kernel = k.kernel(), .reference = reference, .absolute = 1e-5};
}

LoopCase matrix_sum_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("matrix_sum");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int x = k.input(f32, rows * cols);
  const int weight = k.input(f32, rows);
  const int y = k.output(f32, 2);
  k.phase({}, [&] {
    const int total = k.accumulator(ReduceOp::sum, f32);
    const int weights = k.accumulator(ReduceOp::sum, f32);
    k.loop(r, {total, weights}, [&] {
      const int w = k.load(weight, affine({{r, 1}}));
      k.loop(c, [&] {
        k.accumulate(total, k.load(x, affine({{r, cols}, {c, 1}})));
        k.accumulate(weights, w);  // the same in every lane
      });
    });
    k.store(y, affine({}, 0), k.result(total));
    k.store(y, affine({}, 1), k.result(weights));
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    out<float>(buffers, 2, 0) = out<float>(buffers, 2, 1) = 0;
    for (int64_t i = 0; i < n.rows * n.cols; ++i) {
      out<float>(buffers, 2, 0) += in<float>(buffers, 0, i);
      out<float>(buffers, 2, 1) += in<float>(buffers, 1, i / n.cols);
    }
    return KernelStatus{};
  };
  const auto prepare = [](const Bindings&, auto& buffers) {
    make_whole(buffers[0]);
    make_whole(buffers[1]);
  };
  return {.name = "matrix_sum",
          .kernel = k.kernel(),
          .reference = reference,
          .prepare = prepare,
          .relative = 0,
          .absolute = 0};
}

LoopCase blocked_sum_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("blocked_sum");
  const int r = k.axis("r", rows);
  const int t = k.axis("t", ceildiv(cols, 48));
  const int i = k.tile("i", 48, t, cols, true);
  const int x = k.input(i32, rows * cols);
  const int y = k.output(i32, rows);
  k.phase({r}, [&] {
    const int sum = k.accumulator(ReduceOp::sum, i32);
    k.loop(t, {sum}, [&] { k.loop(i, [&] { k.accumulate(sum, k.load(x, affine({{r, cols}, {t, 48}, {i, 1}}))); }); });
    k.store(y, affine({{r, 1}}), k.result(sum));
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t p = 0; p < n.rows; ++p) {
      int32_t sum = 0;
      for (int64_t q = 0; q < n.cols; ++q) {
        sum += in<int32_t>(buffers, 0, p * n.cols + q);
      }
      out<int32_t>(buffers, 1, p) = sum;
    }
    return KernelStatus{};
  };
  return {.name = "blocked_sum", .kernel = k.kernel(), .reference = reference, .relative = 0, .absolute = 0};
}

LoopCase product_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("product");
  const int m = k.axis("m", rows);
  const int n = k.vector_axis("n", cols);
  const int d = k.axis("d", 7);
  const int a = k.input(f32, rows * 7);
  const int b = k.input(f32, cols * 7);
  const int y = k.output(f32, rows * cols);
  k.phase({m}, [&] {
    k.loop(n, [&] {
      const int sum = k.reduce(d, ReduceOp::sum, f32, [&] {
        return k.compute(Prim::mul, {k.load(a, affine({{m, 7}, {d, 1}})), k.load(b, affine({{n, 1}, {d, cols}}))});
      });
      k.store(y, affine({{m, cols}, {n, 1}}), k.compute(Prim::max, {sum, k.constant(f32, 0)}));
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes size(bindings);
    for (int64_t i = 0; i < size.rows * size.cols; ++i) {
      double sum = 0;
      for (int64_t p = 0; p < 7; ++p) {
        sum += static_cast<double>(in<float>(buffers, 0, i / size.cols * 7 + p)) *
               static_cast<double>(in<float>(buffers, 1, p * size.cols + i % size.cols));
      }
      out<float>(buffers, 2, i) = static_cast<float>(std::max(sum, 0.0));
    }
    return KernelStatus{};
  };
  return {.name = "product", .kernel = k.kernel(), .reference = reference, .absolute = 1e-5};
}

LoopCase convolution_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("convolution");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int w = k.axis("w", 3);
  const int x = k.input(f32, rows * cols);
  const int kernel = k.input(f32, 3);
  const int y = k.output(f32, rows * cols);
  k.phase({r}, [&] {
    k.loop(c, [&] {
      const int sum = k.reduce(w, ReduceOp::sum, f32, [&] {
        const int v =
            k.load(x, affine({{r, cols}, {c, 1}, {w, 1}}, -1), {{.index = affine({{c, 1}, {w, 1}}, -1), .size = cols}});
        return k.compute(Prim::mul, {v, k.load(kernel, affine({{w, 1}}))});
      });
      k.store(y, affine({{r, cols}, {c, 1}}), sum);
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t i = 0; i < n.rows * n.cols; ++i) {
      double sum = 0;
      for (int64_t p = 0; p < 3; ++p) {
        const int64_t q = i % n.cols + p - 1;
        if (q >= 0 && q < n.cols) {
          sum += static_cast<double>(in<float>(buffers, 0, i + p - 1)) * static_cast<double>(in<float>(buffers, 1, p));
        }
      }
      out<float>(buffers, 2, i) = static_cast<float>(sum);
    }
    return KernelStatus{};
  };
  return {.name = "convolution", .kernel = k.kernel(), .reference = reference, .absolute = 1e-5};
}

LoopCase split_sum_case() {
  const Extent& n = cols_extent();
  LoopBuilder k("split_sum");
  const int t = k.axis("t", ceildiv(n, 64));
  const int i = k.tile("i", 64, t, n, true);
  const int x = k.input(f32, n);
  const int y = k.output(f32, 1);
  const int partial = k.buffer(f32, loops::Role::partial, ceildiv(n, 64));
  k.phase({t}, [&] {
    const int sum = k.reduce(i, ReduceOp::sum, f32, [&] { return k.load(x, affine({{t, 64}, {i, 1}})); });
    k.store(partial, affine({{t, 1}}), sum);
  });
  k.phase({}, [&] {
    const int sum = k.reduce(t, ReduceOp::sum, f32, [&] { return k.load(partial, affine({{t, 1}})); });
    k.store(y, affine({}), sum);
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    out<float>(buffers, 1, 0) = 0;
    for (int64_t p = 0; p < Sizes(bindings).cols; ++p) {
      out<float>(buffers, 1, 0) += in<float>(buffers, 0, p);
    }
    return KernelStatus{};
  };
  const auto prepare = [](const Bindings&, auto& buffers) { make_whole(buffers[0]); };
  return {.name = "split_sum",
          .kernel = k.kernel(),
          .reference = reference,
          .prepare = prepare,
          .relative = 0,
          .absolute = 0};
}

}  // namespace tenon
