#include <fmt/format.h>

#include <cmath>

#include "support/loop_case_tools.h"

namespace tenon {

using namespace loop_case;

LoopCase elementwise_case() {
  const Extent& n = cols_extent();
  LoopBuilder k("elementwise");
  const int t = k.axis("t", ceildiv(n, 100));
  const int i = k.tile("i", 100, t, n, true);
  const int a = k.input(f32, n);
  const int b = k.input(f32, n);
  const int y = k.output(f32, n);
  const loops::Affine at = affine({{t, 100}, {i, 1}});
  k.phase({t}, [&] {
    k.loop(i, [&] {
      const int product = k.compute(Prim::mul, {k.compute(Prim::exp, {k.load(a, at)}), k.load(b, at)});
      k.store(y, at, k.compute(Prim::sub, {product, k.constant(f32, 0.5)}));
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    for (int64_t p = 0; p < Sizes(bindings).cols; ++p) {
      out<float>(buffers, 2, p) = std::exp(in<float>(buffers, 0, p)) * in<float>(buffers, 1, p) - 0.5F;
    }
    return KernelStatus{};
  };
  return {.name = "elementwise", .kernel = k.kernel(), .reference = reference};
}

LoopCase mixed_dtypes_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("mixed");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int x = k.input(f32, rows * cols);
  const int row = k.input(f64, cols);
  const int column = k.input(i32, rows);
  const int keep = k.input(boolean, cols);
  const int y = k.output(f64, rows * cols);
  const int z = k.output(i8, rows * cols);
  const int less = k.output(boolean, rows * cols);
  const loops::Affine at = affine({{r, cols}, {c, 1}});
  k.phase({r}, [&] {
    const int scale = k.load(column, affine({{r, 1}}));
    k.loop(c, [&] {
      const int wide = k.cast(k.load(x, at), f64);
      const int shift = k.load(row, affine({{c, 1}}));
      const int sum = k.compute(Prim::add, {k.compute(Prim::mul, {wide, k.cast(scale, f64)}), shift});
      k.store(y, at, k.compute(Prim::select, {k.load(keep, affine({{c, 1}})), sum, wide}));
      k.store(z, at, k.cast(k.compute(Prim::add, {k.position(affine({{r, 3}, {c, -1}}, 5)), k.cast(scale, i64)}), i8));
      k.store(less, at, k.compute(Prim::lt, {wide, shift}));
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t i = 0; i < n.rows * n.cols; ++i) {
      const int64_t p = i / n.cols;
      const int64_t q = i % n.cols;
      const auto wide = static_cast<double>(in<float>(buffers, 0, i));
      const double shift = in<double>(buffers, 1, q);
      const int32_t scale = in<int32_t>(buffers, 2, p);
      out<double>(buffers, 4, i) = in<bool>(buffers, 3, q) ? wide * scale + shift : wide;
      out<int8_t>(buffers, 5, i) = convert<int8_t>(3 * p - q + 5 + scale);
      out<bool>(buffers, 6, i) = wide < shift;
    }
    return KernelStatus{};
  };
  return {.name = "mixed_dtypes", .kernel = k.kernel(), .reference = reference};
}

LoopCase pad_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("pad");
  const int r = k.axis("r", rows + 2);
  const int c = k.vector_axis("c", cols + 5);
  const int x = k.input(f32, rows * cols);
  const int y = k.output(f32, (rows + 2) * (cols + 5));
  k.phase({r}, [&] {
    k.loop(c, [&] {
      const int v =
          k.load(x, affine({{r, cols}, {c, 1}}, -cols - 2),
                 {{.index = affine({{r, 1}}, -1), .size = rows}, {.index = affine({{c, 1}}, -2), .size = cols}});
      k.store(y, affine({{r, cols + 5}, {c, 1}}), v);
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t i = 0; i < (n.rows + 2) * (n.cols + 5); ++i) {
      const int64_t p = i / (n.cols + 5) - 1;
      const int64_t q = i % (n.cols + 5) - 2;
      const bool inside = p >= 0 && p < n.rows && q >= 0 && q < n.cols;
      out<float>(buffers, 1, i) = inside ? in<float>(buffers, 0, p * n.cols + q) : 0.0F;
    }
    return KernelStatus{};
  };
  return {.name = "pad", .kernel = k.kernel(), .reference = reference, .relative = 0, .absolute = 0};
}

LoopCase strides_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("strides");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int x = k.input(f32, rows * cols);
  const int z = k.input(f32, rows * cols);  // [cols, rows]
  const int y = k.output(f32, rows * cols);
  const int t = k.output(f32, rows * cols);  // [cols, rows]
  k.phase({r}, [&] {
    k.loop(c, [&] {
      const int reversed = k.load(x, affine({{r, -cols}, {c, -1}}, rows * cols - 1));
      const int transposed = k.load(z, affine({{r, 1}, {c, rows}}));
      k.store(y, affine({{r, cols}, {c, 1}}), k.compute(Prim::add, {reversed, transposed}));
      k.store(t, affine({{r, 1}, {c, rows}}), reversed);
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t i = 0; i < n.rows * n.cols; ++i) {
      const int64_t other = i % n.cols * n.rows + i / n.cols;
      const float reversed = in<float>(buffers, 0, n.rows * n.cols - 1 - i);
      out<float>(buffers, 2, i) = reversed + in<float>(buffers, 1, other);
      out<float>(buffers, 3, other) = reversed;
    }
    return KernelStatus{};
  };
  return {.name = "strides", .kernel = k.kernel(), .reference = reference, .relative = 0, .absolute = 0};
}

LoopCase masked_store_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("masked_store");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int x = k.input(f32, rows * cols);
  const int y = k.output(f32, rows * cols);
  k.phase({r}, [&] {
    k.loop(c, [&] {
      k.store(y, affine({{r, cols}, {c, 1}}, 2), k.load(x, affine({{r, cols}, {c, 1}})),
              {{.index = affine({{c, 1}}, 2), .size = cols}, {.index = affine({{r, -1}}, 3), .size = 4}});
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t i = 0; i < n.rows * n.cols; ++i) {
      if (i % n.cols + 2 < n.cols && i / n.cols <= 3) {
        out<float>(buffers, 1, i + 2) = in<float>(buffers, 0, i);
      }
    }
    return KernelStatus{};
  };
  return {.name = "masked_store", .kernel = k.kernel(), .reference = reference, .relative = 0, .absolute = 0};
}

LoopCase rare_rows_case() {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("rare_rows");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int once = k.axis("once", 1);
  const int x = k.input(f32, rows * cols);
  const int y = k.output(f32, rows * cols);
  const loops::Affine at = affine({{r, cols}, {c, 1}});
  k.phase({r}, [&] {
    k.loop(c, [&] { k.store(y, at, k.load(x, at)); });
    const int first = k.load(x, affine({{r, cols}}), {{.index = affine({}), .size = cols}});
    k.loop_unless(once, k.compute(Prim::le, {k.constant(f32, 0), first}),
                  [&] { k.loop(c, [&] { k.store(y, at, k.compute(Prim::neg, {k.load(x, at)})); }); });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t i = 0; i < n.rows * n.cols; ++i) {
      const float value = in<float>(buffers, 0, i);
      out<float>(buffers, 1, i) = in<float>(buffers, 0, i / n.cols * n.cols) < 0 ? -value : value;
    }
    return KernelStatus{};
  };
  return {.name = "rare_rows", .kernel = k.kernel(), .reference = reference, .relative = 0, .absolute = 0};
}

LoopCase copy_case(Dtype dtype) {
  const Extent& n = cols_extent();
  LoopBuilder k("copy");
  const int c = k.vector_axis("c", n);
  const int x = k.input(dtype, n);
  const int y = k.output(dtype, n);
  k.phase({}, [&] { k.loop(c, [&] { k.store(y, affine({{c, 1}}), k.load(x, affine({{c, -1}}, n - 1))); }); });
  const auto reference = [dtype](const Bindings& bindings, auto& buffers) {
    const int64_t count = Sizes(bindings).cols;
    visit_dtype(dtype, [&]<class T>() {
      for (int64_t i = 0; i < count; ++i) {
        out<T>(buffers, 1, i) = in<T>(buffers, 0, count - 1 - i);
      }
    });
    return KernelStatus{};
  };
  return {.name = fmt::format("copy_{}", name(dtype)),
          .kernel = k.kernel(),
          .reference = reference,
          .relative = 0,
          .absolute = 0};
}

}  // namespace tenon
