// Products of f32 on one thread, against OpenBLAS in the same run and against the machine's peak; those of other types
// against f32.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "codegen/compile_kernels.h"
#include "codegen/products/product_library.h"
#include "support/openblas.h"
#include "support/peak.h"
#include "support/report.h"
#include "support/timing.h"

namespace {

using bench::median;
using bench::seconds_of;
using namespace tenon;

constexpr int kRounds = 11;
constexpr double kFlopsOfARound = 2e7;

struct Free {
  void operator()(std::byte* block) const { free_aligned(block); }
};

/// Elements in [-2, 2), the same in every run.
class Matrix {
 public:
  explicit Matrix(int64_t elements) : memory_(allocate_aligned(static_cast<size_t>(elements) * sizeof(float))) {
    uint32_t state = 1;
    for (int64_t i = 0; i < elements; ++i) {
      state = state * 1664525 + 1013904223;
      data()[i] = static_cast<float>(state >> 8) * 0x1p-22f - 2;
    }
  }
  float* data() const { return reinterpret_cast<float*>(memory_.get()); }

 private:
  std::unique_ptr<std::byte, Free> memory_;
};

struct ProductShape {
  std::string name;
  int64_t rows;
  int64_t columns;
  int64_t depth;
  bool right_transposed = false;
  double target = 0.95;

  double flops() const { return 2.0 * static_cast<double>(rows * columns * depth); }
};

std::vector<ProductShape> shapes() {
  std::vector<ProductShape> all;
  for (const int64_t size : {16, 32, 64, 100, 128, 256, 384, 512, 768, 1024, 2048}) {
    all.push_back({fmt::format("square.{}", size), size, size, size, false, size < 512 ? 1.2 : 0.95});
  }
  for (const int64_t rows : {1, 4, 13, 128}) {
    for (const auto& [columns, depth] : {std::pair<int64_t, int64_t>{3072, 768}, {768, 3072}, {768, 768}}) {
      all.push_back({fmt::format("rows{}.{}x{}", rows, columns, depth), rows, columns, depth, false, 1.2});
    }
  }
  for (const int64_t rows : {1, 13, 128}) {
    all.push_back({fmt::format("transposed.rows{}.768x768", rows), rows, 768, 768, true, 1.2});
  }
  all.push_back({"transposed.square.128x128x64", 128, 128, 64, true, 1.2});
  all.push_back({"transposed.square.1024", 1024, 1024, 1024, true});
  return all;
}

class Benchmark {
 public:
  Benchmark(bench::Report& report, const bench::OpenBlas* blas) : report_(report), blas_(blas) {
    codegen::JitOptions options = codegen::kernel_jit_options();
    options.cache.enabled = false;
    jit_ = std::make_unique<codegen::Jit>(std::move(options));
    const ProductCaches caches = codegen::product_caches(this_machine().cpu());
    const double seconds = seconds_of(1, 1, [&] { kernels_ = codegen::make_product_kernels({}, caches, *jit_); });
    report_.add("compile", 1e3 * seconds, "ms", std::nullopt, bench::Better::lower, "once a machine");
    peak_ = bench::peak_flops();
    report_.add("peak", 1e-9 * peak_, "GFLOP/s", std::nullopt, bench::Better::higher,
                codegen::describe(jit_->target()));
  }

  void measure(const ProductShape& shape) {
    if (!report_.wants(shape.name)) return;
    const Matrix left(shape.rows * shape.depth);
    const Matrix right(shape.depth * shape.columns);
    const Matrix ours(shape.rows * shape.columns);
    const Matrix theirs(shape.rows * shape.columns);
    ProductCall call{.left = left.data(),
                     .left_row = shape.depth,
                     .right = right.data(),
                     .right_depth = shape.right_transposed ? 1 : shape.columns,
                     .right_column = shape.right_transposed ? shape.depth : 1,
                     .tile = ours.data(),
                     .tile_row = shape.columns,
                     .rows = shape.rows,
                     .columns = shape.columns,
                     .depth = shape.depth};
    ProductCall their_call = call;
    their_call.tile = theirs.data();
    const int times = std::max(1, static_cast<int>(kFlopsOfARound / shape.flops()));
    std::vector<double> time;
    std::vector<double> their_time;
    std::vector<double> ratio;
    for (int round = -1; round < kRounds; ++round) {
      const double t = seconds_of(1, times, [&] { blocked_product(kernels_, {}, call, scratch_.data()); });
      const double o = blas_ == nullptr ? t : seconds_of(1, times, [&] { blas_->multiply(their_call); });
      if (round < 0) continue;  // memory and caches are new
      time.push_back(t);
      their_time.push_back(o);
      ratio.push_back(o / t);
    }
    const double rate = shape.flops() / median(time);
    const std::string note =
        fmt::format("{:.1f} GFLOP/s, {:.0f} % of peak, {:.2f} us", 1e-9 * rate, 100 * rate / peak_, 1e6 * median(time));
    if (blas_ == nullptr) {
      report_.add_pending(shape.name, "x", shape.target, bench::Better::higher, note);
      return;
    }
    log_sum_ += std::log(median(ratio));
    ++count_;
    report_.add(shape.name, median(ratio), "x", shape.target, bench::Better::higher,
                fmt::format("{}; OpenBLAS {:.1f}", note, 1e-9 * shape.flops() / median(their_time)));
  }

  /// Other types against f32 at the same sizes.
  void measure_types(int64_t rows, int64_t columns, int64_t depth) {
    const Matrix left(rows * depth * 2);
    const Matrix right(depth * columns * 2);
    const Matrix tile(rows * columns * 2);
    const ProductCall call{.left = left.data(),
                           .left_row = depth,
                           .right = right.data(),
                           .right_depth = columns,
                           .tile = tile.data(),
                           .tile_row = columns,
                           .rows = rows,
                           .columns = columns,
                           .depth = depth};
    const codegen::Target& target = jit_->target();
    for (const ProductKind& kind : product_kinds()) {
      if (kind.types == ProductTypes{}) continue;
      const ProductKernels kernels =
          codegen::make_product_kernels(kind.types, codegen::product_caches(this_machine().cpu()), *jit_);
      std::vector<double> ratio;
      std::vector<double> time;
      for (int round = -1; round < kRounds; ++round) {
        const double f32_time = seconds_of(1, 1, [&] { blocked_product(kernels_, {}, call, scratch_.data()); });
        const double t = seconds_of(1, 1, [&] { blocked_product(kernels, kind.types, call, scratch_.data()); });
        if (round < 0) continue;
        ratio.push_back(f32_time / t);
        time.push_back(t);
      }
      const bool wanted = kind.types.right == Dtype::bf16 && (target.bf16_dot || kernels.matrix.begin != nullptr);
      const double flops = 2.0 * static_cast<double>(rows * columns * depth);
      report_.add(fmt::format("{}.{}x{}x{}", kind.symbol.substr(14), rows, columns, depth), median(ratio), "x f32",
                  wanted ? std::optional(1.5) : std::nullopt, bench::Better::higher,
                  fmt::format("{:.1f} G operations/s", 1e-9 * flops / median(time)));
    }
  }

  void finish() {
    if (count_ > 0) {
      report_.add("geometric_mean", std::exp(log_sum_ / count_), "x", 1.0, bench::Better::higher,
                  "OpenBLAS for " + blas_->core());
    }
  }

 private:
  bench::Report& report_;
  const bench::OpenBlas* blas_;
  std::unique_ptr<codegen::Jit> jit_;
  ProductKernels kernels_;
  Matrix scratch_ = Matrix(kProductScratchBytes / int64_t{sizeof(float)});
  double peak_ = 0;
  double log_sum_ = 0;
  int count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  const bench::OpenBlas* const blas = bench::OpenBlas::find();
  if (blas == nullptr)
    fmt::print(stderr, "bench product: OpenBLAS is not installed (libopenblas0); nothing to compare with\n");
  Benchmark benchmark(report, blas);
  for (const ProductShape& shape : shapes()) {
    benchmark.measure(shape);
  }
  benchmark.finish();
  benchmark.measure_types(128, 3072, 768);
  benchmark.measure_types(1024, 1024, 1024);
  return report.finish();
}
