#include <algorithm>

#include "support/loop_case_tools.h"

namespace tenon {

using namespace loop_case;

LoopCase gather_rows_case(bool failing) {
  constexpr int64_t kTable = 11;
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("gather_rows");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int ids = k.input(i64, rows);
  const int table = k.input(f32, cols * kTable);
  const int y = k.output(f32, rows * cols);
  k.site("an unrelated position");
  const int site = k.site("gather: position {position} of a table of {size}");
  k.phase({r}, [&] {
    const int id = k.load(ids, affine({{r, 1}}));
    k.loop(c, [&] {
      const int v = k.load(table, affine({{c, 1}}), {}, {{.value = id, .stride = cols, .size = kTable, .site = site}});
      k.store(y, affine({{r, cols}, {c, 1}}), v);
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t i = 0; i < n.rows * n.cols; ++i) {
      const int64_t id = in<int64_t>(buffers, 0, i / n.cols);
      if (id < 0 || id >= kTable) {
        return KernelStatus{.failed = 2, .position = id, .size = kTable};
      }
      out<float>(buffers, 2, i) = in<float>(buffers, 1, id * n.cols + i % n.cols);
    }
    return KernelStatus{};
  };
  const auto prepare = [failing](const Bindings& bindings, auto& buffers) {
    make_positions(buffers[0], kTable);
    if (const Sizes n(bindings); failing && n.rows > 0) {
      out<int64_t>(buffers, 0, n.rows - 1) = kTable;
    }
  };
  return {.name = failing ? "gather_rows_failing" : "gather_rows",
          .kernel = k.kernel(),
          .reference = reference,
          .prepare = prepare,
          .relative = 0,
          .absolute = 0};
}

LoopCase gather_elements_case(bool failing) {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("gather_elements");
  const int c = k.vector_axis("c", cols);
  const int ids = k.input(i64, cols);
  const int table = k.input(f32, rows * 3);
  const int y = k.output(f32, cols);
  const int site = k.site("position {position} of {size}");
  k.phase({}, [&] {
    k.loop(c, [&] {
      const int id = k.load(ids, affine({{c, 1}}));
      const int which = k.compute(Prim::bit_and, {k.position(affine({{c, 1}})), k.constant(i64, 1)});
      const int v = k.load(table, affine({}), {{.index = affine({{c, 1}}, -1), .size = cols - 1}},
                           {{.value = id, .stride = 3, .size = rows, .site = site},
                            {.value = which, .stride = 2, .size = 2, .site = site}});
      k.store(y, affine({{c, 1}}), v);
    });
  });
  const auto reference = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    KernelStatus status;
    for (int64_t q = 0; q < n.cols; ++q) {
      const int64_t id = in<int64_t>(buffers, 0, q);
      if (q == 0) {
        out<float>(buffers, 2, q) = 0;
      } else if (id < 0 || id >= n.rows) {
        status = {.failed = 1, .position = id, .size = n.rows};
      } else {
        out<float>(buffers, 2, q) = in<float>(buffers, 1, 3 * id + 2 * (q % 2));
      }
    }
    return status;
  };
  const auto prepare = [failing](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    if (n.rows == 0) {  // nothing can be read: every position that is looked up fails, all alike
      std::ranges::fill(buffers[0].template mutable_values<int64_t>(), 1);
    } else {
      make_positions(buffers[0], n.rows);
    }
    if (n.cols > 0) {
      out<int64_t>(buffers, 0, 0) = -5;  // behind the bound
    }
    if (failing && n.rows > 0 && n.cols > 1) {
      out<int64_t>(buffers, 0, n.cols - 1) = -7;
    }
  };
  return {.name = failing ? "gather_elements_failing" : "gather_elements",
          .kernel = k.kernel(),
          .reference = reference,
          .prepare = prepare,
          .relative = 0,
          .absolute = 0};
}

}  // namespace tenon
