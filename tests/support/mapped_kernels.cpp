#include "support/mapped_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/loop/loop_parse.h"

namespace tenon {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

int64_t rows_of(const Bindings& bindings) { return evaluate(Extent::name("rows"), bindings); }
int64_t cols_of(const Bindings& bindings) { return evaluate(Extent::name("cols"), bindings); }

/// A case whose status is never a failure.
template <class F>
LoopCase mapped_case(std::string name, std::string_view text, const F& reference) {
  return {.name = std::move(name),
          .kernel = loops::parse_kernel(text),
          .reference = [reference](const Bindings& bindings, std::vector<Array>& buffers) {
            reference(bindings, buffers);
            return KernelStatus{};
          }};
}

/// f(row, the first of its elements).
template <class F>
void for_each_row(const Bindings& bindings, const float* elements, const F& f) {
  for (int64_t r = 0; r < rows_of(bindings); ++r) {
    f(r, elements + r * cols_of(bindings));
  }
}

}  // namespace

LoopCase mapped_square_case() {
  constexpr std::string_view kText = R"(kernel mapped_square
  axes    b: (cols+63) floordiv 64 blocks   t: 64 threads
  buffers b0 in f32[cols]   b1 out f32[cols]
  phase grid(b)
    loop t
      v0 = load b0[64*b + t] if 0 <= 64*b + t < cols
      v1 = mul v0, v0
      b1[64*b + t] = v1 if 0 <= 64*b + t < cols
)";
  return mapped_case("mapped_square", kText, [](const Bindings&, std::vector<Array>& buffers) {
    std::ranges::transform(buffers[0].values<float>(), buffers[1].mutable_values<float>().begin(),
                           [](float x) { return x * x; });
  });
}

LoopCase mapped_softmax_case() {
  constexpr std::string_view kText = R"(kernel mapped_softmax
  axes    r: rows blocks   t: 64 threads   k: (cols+63) floordiv 64
  buffers b0 in f32[cols*rows]   b1 out f32[cols*rows]
  phase grid(r)
    loop t begins a0
      loop k
        v0 = position t + 64*k
        v1 = position cols
        v2 = lt v0, v1
        v3 = load b0[cols*r + t + 64*k] if 0 <= t + 64*k < cols
        v4 = constant f32 -inf
        v5 = select v2, v3, v4
        a0 max= v5
    v6 = result a0
    loop t begins a1
      loop k
        v0 = position t + 64*k
        v1 = position cols
        v2 = lt v0, v1
        v3 = load b0[cols*r + t + 64*k] if 0 <= t + 64*k < cols
        v7 = sub v3, v6
        v8 = exp v7
        v9 = constant f32 0
        v10 = select v2, v8, v9
        a1 sum= v10
    v11 = result a1
    loop t
      loop k
        v3 = load b0[cols*r + t + 64*k] if 0 <= t + 64*k < cols
        v7 = sub v3, v6
        v8 = exp v7
        v12 = div v8, v11
        b1[cols*r + t + 64*k] = v12 if 0 <= t + 64*k < cols
)";
  LoopCase made = mapped_case("mapped_softmax", kText, [](const Bindings& bindings, std::vector<Array>& buffers) {
    const auto y = buffers[1].mutable_values<float>();
    const auto cols = static_cast<size_t>(cols_of(bindings));
    for_each_row(bindings, buffers[0].values<float>().data(), [&](int64_t r, const float* row) {
      float largest = -kInfinity;
      for (size_t c = 0; c < cols; ++c) {
        largest = std::isnan(row[c]) || row[c] > largest ? row[c] : largest;
      }
      double sum = 0;
      for (size_t c = 0; c < cols; ++c) {
        sum += std::exp(static_cast<double>(row[c] - largest));
      }
      for (size_t c = 0; c < cols; ++c) {
        y[static_cast<size_t>(r) * cols + c] =
            static_cast<float>(std::exp(static_cast<double>(row[c] - largest)) / sum);
      }
    });
  });
  made.prepare = [](const Bindings& bindings, std::vector<Array>& buffers) {
    const auto cols = static_cast<size_t>(cols_of(bindings));
    if (rows_of(bindings) < 4 || cols == 0) {
      return;
    }
    const auto x = buffers[0].mutable_values<float>();
    x[cols + cols / 2] = kInfinity;
    x[2 * cols + cols - 1] = kNan;
    x[3 * cols] = -kInfinity;
  };
  return made;
}

LoopCase mapped_transpose_case() {
  constexpr std::string_view kText = R"(kernel mapped_transpose
  axes    i: (rows+7) floordiv 8 blocks   j: (cols+7) floordiv 8 blocks   x: 8 threads   y: 8 threads
  buffers b0 in f32[cols*rows]   b1 out f32[cols*rows]   b2 block scratch f32[72]
  phase grid(i, j)
    loop x
      loop y
        v0 = load b0[8*cols*i + 8*j + cols*x + y] if 0 <= 8*i + x < rows and 0 <= 8*j + y < cols
        b2[9*x + y] = v0
    barrier
    loop x
      loop y
        v1 = load b2[x + 9*y]
        b1[8*i + 8*rows*j + rows*x + y] = v1 if 0 <= 8*i + y < rows and 0 <= 8*j + x < cols
)";
  return mapped_case("mapped_transpose", kText, [](const Bindings& bindings, std::vector<Array>& buffers) {
    const auto y = buffers[1].mutable_values<float>();
    for_each_row(bindings, buffers[0].values<float>().data(), [&](int64_t r, const float* row) {
      for (int64_t c = 0; c < cols_of(bindings); ++c) {
        y[static_cast<size_t>(c * rows_of(bindings) + r)] = row[c];
      }
    });
  });
}

LoopCase mapped_product_case() {
  constexpr std::string_view kText = R"(kernel mapped_product
  axes    i: (rows+7) floordiv 8 blocks   j: 2 blocks   k: (cols+7) floordiv 8   x: 8 threads   y: 8 threads   z: 8   c: 2
  buffers b0 in f32[cols*rows]   b1 in f32[24*cols]   b2 out f32[24*rows]   b3 block scratch f32[64]   b4 block scratch f32[128]   b5 scratch f32[2]
  phase grid(i, j)
    loop x
      loop y
        v0 = constant f32 0
        loop c
          b5[c] = v0
    loop k
      loop x
        loop y
          v1 = load b0[8*cols*i + 8*k + cols*x + y] if 0 <= 8*i + x < rows and 0 <= 8*k + y < cols
          b3[8*x + y] = v1
          loop c
            v2 = load b1[16*j + 192*k + 24*x + y + 8*c] if 0 <= 8*k + x < cols and 0 <= 16*j + y + 8*c < 24
            b4[16*x + y + 8*c] = v2
      barrier
      loop x
        loop y
          loop z
            v3 = load b3[8*x + z]
            loop c
              v4 = load b4[y + 16*z + 8*c]
              v5 = mul v3, v4
              v6 = load b5[c]
              v7 = add v6, v5
              b5[c] = v7
      barrier
    loop x
      loop y
        loop c
          v8 = load b5[c]
          b2[192*i + 16*j + 24*x + y + 8*c] = v8 if 0 <= 8*i + x < rows and 0 <= 16*j + y + 8*c < 24
)";
  LoopCase made = mapped_case("mapped_product", kText, [](const Bindings& bindings, std::vector<Array>& buffers) {
    constexpr size_t kColumns = 24;
    const auto b = buffers[1].values<float>();
    const auto y = buffers[2].mutable_values<float>();
    for_each_row(bindings, buffers[0].values<float>().data(), [&](int64_t r, const float* row) {
      for (size_t n = 0; n < kColumns; ++n) {
        float sum = 0;
        for (size_t k = 0; k < static_cast<size_t>(cols_of(bindings)); ++k) {
          sum += row[k] * b[k * kColumns + n];
        }
        y[static_cast<size_t>(r) * kColumns + n] = sum;
      }
    });
  });
  made.absolute = 1e-4;
  return made;
}

LoopCase mapped_sum_case() {
  constexpr std::string_view kText = R"(kernel mapped_sum
  axes    b: (cols+255) floordiv 256 blocks   t: 64 threads   k: 4   m: (cols+16383) floordiv 16384
  buffers b0 in f32[cols]   b1 out f32[1]   b2 partial f32[(cols+255) floordiv 256]
  phase grid(b)
    loop t begins a0
      loop k
        v0 = load b0[256*b + t + 64*k] if 0 <= 256*b + t + 64*k < cols
        a0 sum= v0
    v1 = result a0
    b2[b] = v1
  phase grid()
    loop t begins a1
      loop m
        v2 = load b2[t + 64*m] if 0 <= t + 64*m < (cols+255) floordiv 256
        a1 sum= v2
    v3 = result a1
    b1[0] = v3
)";
  LoopCase made = mapped_case("mapped_sum", kText, [](const Bindings&, std::vector<Array>& buffers) {
    double sum = 0;
    for (const float x : buffers[0].values<float>()) {
      sum += static_cast<double>(x);
    }
    buffers[1].mutable_values<float>()[0] = static_cast<float>(sum);
  });
  made.absolute = 1e-3;
  return made;
}

LoopCase mapped_row_sums_case() {
  constexpr std::string_view kText = R"(kernel mapped_row_sums
  axes    b: (rows+3) floordiv 4 blocks   x: 4 threads   y: 16 threads   k: (cols+15) floordiv 16
  buffers b0 in f32[cols*rows]   b1 out f32[rows]
  phase grid(b)
    loop x
      loop y begins a0
        loop k
          v0 = load b0[4*cols*b + cols*x + y + 16*k] if 0 <= 4*b + x < rows and 0 <= y + 16*k < cols
          a0 sum= v0
      v1 = result a0
      b1[4*b + x] = v1 if 0 <= 4*b + x < rows
)";
  LoopCase made = mapped_case("mapped_row_sums", kText, [](const Bindings& bindings, std::vector<Array>& buffers) {
    const auto y = buffers[1].mutable_values<float>();
    for_each_row(bindings, buffers[0].values<float>().data(), [&](int64_t r, const float* row) {
      double sum = 0;
      for (int64_t c = 0; c < cols_of(bindings); ++c) {
        sum += static_cast<double>(row[c]);
      }
      y[static_cast<size_t>(r)] = static_cast<float>(sum);
    });
  });
  made.absolute = 1e-4;
  return made;
}

LoopCase mapped_argmax_case() {
  constexpr std::string_view kText = R"(kernel mapped_argmax
  axes    r: rows blocks   t: 32 threads   k: (cols+31) floordiv 32
  buffers b0 in f32[cols*rows]   b1 out i64[rows]
  phase grid(r)
    loop t begins a0
      loop k
        v0 = position t + 32*k
        v1 = position cols
        v2 = lt v0, v1
        v3 = load b0[cols*r + t + 32*k] if 0 <= t + 32*k < cols
        v4 = constant f32 -inf
        v5 = select v2, v3, v4
        a0 argmax= v5 at v0
    v6 = result a0
    b1[r] = v6
)";
  LoopCase made = mapped_case("mapped_argmax", kText, [](const Bindings& bindings, std::vector<Array>& buffers) {
    const auto y = buffers[1].mutable_values<int64_t>();
    for_each_row(bindings, buffers[0].values<float>().data(), [&](int64_t r, const float* row) {
      int64_t best = cols_of(bindings) == 0 ? std::numeric_limits<int64_t>::max() : 0;
      for (int64_t c = 1; c < cols_of(bindings); ++c) {
        best = row[c] > row[best] || (std::isnan(row[c]) && !std::isnan(row[best])) ? c : best;
      }
      y[static_cast<size_t>(r)] = best;
    });
  });
  made.prepare = [](const Bindings& bindings, std::vector<Array>& buffers) {
    const auto x = buffers[0].mutable_values<float>();
    const auto cols = static_cast<size_t>(cols_of(bindings));
    std::ranges::transform(x, x.begin(), [](float each) { return std::floor(each); });
    if (rows_of(bindings) > 2 && cols > 1) {
      x[2 * cols + cols / 2] = kNan;
      x[2 * cols + cols - 1] = kNan;
    }
  };
  return made;
}

LoopCase mapped_logical_case() {
  constexpr std::string_view kText = R"(kernel mapped_logical
  axes    r: rows blocks   k: (cols+15) floordiv 16   t: 16 threads
  buffers b0 in bool[cols*rows]   b1 out bool[rows]   b2 out bool[rows]
  phase grid(r)
    loop k begins a0, a1
      loop t
        v0 = position 16*k + t
        v1 = position cols
        v2 = lt v0, v1
        v3 = load b0[cols*r + 16*k + t] if 0 <= 16*k + t < cols
        v4 = constant bool 1
        v5 = select v2, v3, v4
        a0 all= v5
        a1 any= v3
    v6 = result a0
    v7 = result a1
    b1[r] = v6
    b2[r] = v7
)";
  LoopCase made = mapped_case("mapped_logical", kText, [](const Bindings& bindings, std::vector<Array>& buffers) {
    const auto cols = static_cast<size_t>(cols_of(bindings));
    for (size_t r = 0; r < static_cast<size_t>(rows_of(bindings)); ++r) {
      const std::span<const bool> row = buffers[0].values<bool>().subspan(r * cols, cols);
      buffers[1].mutable_values<bool>()[r] = std::ranges::all_of(row, [](bool each) { return each; });
      buffers[2].mutable_values<bool>()[r] = std::ranges::any_of(row, [](bool each) { return each; });
    }
  });
  made.prepare = [](const Bindings& bindings, std::vector<Array>& buffers) {
    const auto x = buffers[0].mutable_values<bool>();
    const auto cols = static_cast<size_t>(cols_of(bindings));
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = i / cols != 1 && (i / cols != 2 || i % cols == cols - 1);  // a row of all, one of none, one of the last
    }
  };
  return made;
}

std::vector<LoopCase> mapped_cases() {
  return {mapped_square_case(), mapped_softmax_case(),  mapped_transpose_case(), mapped_product_case(),
          mapped_sum_case(),    mapped_row_sums_case(), mapped_argmax_case(),    mapped_logical_case()};
}

loops::Kernel combining_kernel(ReduceOp op, Dtype dtype, int64_t threads) {
  return loops::parse_kernel(fmt::format(R"(kernel combining
  axes    t: {0} threads
  buffers b0 in {1}[{0}]   b1 out {1}[1]
  phase grid()
    loop t begins a0
      v0 = load b0[t]
      a0 {2}= v0
    v1 = result a0
    b1[0] = v1
)",
                                         threads, name(dtype), name(op)));
}

}  // namespace tenon
