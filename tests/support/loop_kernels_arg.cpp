#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/loop_case_tools.h"

namespace tenon {

using namespace loop_case;

namespace {

/// NaN beats any number, then the extreme, then the smaller position.
bool beats(float candidate, float best, bool maximum) {
  if (std::isnan(candidate) || std::isnan(best)) {
    return std::isnan(candidate) && !std::isnan(best);
  }
  return maximum ? candidate > best : candidate < best;
}

/// Ties everywhere; a NaN in every third line, in its last place and in its middle, which is the first then.
void make_ties_and_nans(Array& array, int64_t lines, int64_t length, int64_t line_stride, int64_t stride) {
  make_whole(array);
  auto x = array.mutable_values<float>();
  for (int64_t line = 0; line < lines && length > 0; line += 3) {
    for (const int64_t place : {length - 1, length / 2}) {
      x[static_cast<size_t>(line * line_stride + place * stride)] = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

/// The first extreme; of no elements the largest position, which loses against any other.
int64_t first_extreme(const std::vector<Array>& buffers, int64_t first, int64_t length, int64_t stride, bool maximum) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int64_t p = 0; p < length; ++p) {
    if (p == 0 ||
        beats(in<float>(buffers, 0, first + p * stride), in<float>(buffers, 0, first + best * stride), maximum)) {
      best = p;
    }
  }
  return best;
}

}  // namespace

LoopCase arg_rows_case(ReduceOp op) {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("arg_rows");
  const int r = k.axis("r", rows);
  const int c = k.vector_axis("c", cols);
  const int x = k.input(f32, rows * cols);
  const int y = k.output(i64, rows);
  k.phase({r}, [&] {
    const int best = k.accumulator(op, f32);
    k.loop(c, {best}, [&] {
      const int v = k.load(x, affine({{r, cols}, {c, 1}}));
      k.accumulate(best, v, k.position(affine({{c, 1}})));
    });
    k.store(y, affine({{r, 1}}), k.result(best));
  });
  const auto reference = [op](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t p = 0; p < n.rows; ++p) {
      out<int64_t>(buffers, 1, p) = first_extreme(buffers, p * n.cols, n.cols, 1, op == ReduceOp::argmax);
    }
    return KernelStatus{};
  };
  const auto prepare = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    make_ties_and_nans(buffers[0], n.rows, n.cols, n.cols, 1);
  };
  return {.name = fmt::format("{}_rows", name(op)), .kernel = k.kernel(), .reference = reference, .prepare = prepare};
}

LoopCase arg_columns_case(ReduceOp op) {
  const Extent &rows = rows_extent(), &cols = cols_extent();
  LoopBuilder k("arg_columns");
  const int c = k.vector_axis("c", cols);
  const int r = k.axis("r", rows);
  const int x = k.input(f32, rows * cols);
  const int y = k.output(i64, cols);
  k.phase({}, [&] {
    k.loop(c, [&] {
      const int best = k.accumulator(op, f32);
      k.loop(r, {best}, [&] {
        const int v = k.load(x, affine({{r, cols}, {c, 1}}));
        k.accumulate(best, v, k.position(affine({{r, 1}})));
      });
      k.store(y, affine({{c, 1}}), k.result(best));
    });
  });
  const auto reference = [op](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    for (int64_t q = 0; q < n.cols; ++q) {
      out<int64_t>(buffers, 1, q) = first_extreme(buffers, q, n.rows, n.cols, op == ReduceOp::argmax);
    }
    return KernelStatus{};
  };
  const auto prepare = [](const Bindings& bindings, auto& buffers) {
    const Sizes n(bindings);
    make_ties_and_nans(buffers[0], n.cols, n.rows, 1, n.cols);
  };
  return {
      .name = fmt::format("{}_columns", name(op)), .kernel = k.kernel(), .reference = reference, .prepare = prepare};
}

}  // namespace tenon
