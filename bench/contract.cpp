// Whole kernels with products: matrix products against OpenBLAS, what follows a product, convolutions against the
// machine's peak, attention against itself unfused. All through Executable::run_into, interleaved, medians.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "support/convolutions.h"
#include "support/numbers.h"
#include "support/openblas.h"
#include "support/peak.h"
#include "support/report.h"
#include "support/timing.h"
#include "tenon/compile.h"
#include "tenon/tenon.h"

namespace {

using bench::median;
using bench::numbers;
using bench::read_clock;
using bench::seconds_of;
using namespace tenon;  // NOLINT: the graphs read like the documentation

constexpr int kRounds = 11;
constexpr double kFlopsOfARound = 2e7;

/// Threads that have nothing more to do spin for a while, OpenBLAS's for a tenth of a second, on a core that belongs to
/// whoever comes next: wait until none does.
void settle(int threads) {
  constexpr std::chrono::milliseconds kPeriod(10);
  constexpr int kMostPeriods = 200;
  constexpr double kIdle = 5e-4;  // seconds of a period that looking at the clock may take
  if (threads == 1) return;
  double before = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < kMostPeriods; ++i) {
    std::this_thread::sleep_for(kPeriod);
    const double used = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    if (used - before < kIdle) return;
    before = used;
  }
}

/// After whatever the other side left behind: its threads have to end, ours or theirs to wake up again.
double settled_seconds_of(int threads, int times, const auto& run) {
  settle(threads);
  if (threads > 1) run();
  return seconds_of(threads, times, run);
}

/// A compiled graph with arrays for it.
class Bound {
 public:
  Bound(const Graph& graph, std::vector<Array> inputs, int threads, const CompileOptions& options = {})
      : executable_(compile(graph, options)), inputs_(std::move(inputs)), options_{.threads = threads} {
    outputs_ = executable_.run(inputs_, options_);
    for (Array& each : inputs_) {
      in_.push_back(view_of(each));
    }
    for (Array& each : outputs_) {
      out_.push_back(writable_view_of(each));
    }
  }

  void run() const { executable_.run_into(in_, out_, options_); }

 private:
  Executable executable_;
  std::vector<Array> inputs_, outputs_;
  std::vector<TensorView> in_, out_;
  RunOptions options_;
};

Graph graph_of(std::vector<Value> inputs, const Value& y) { return {std::move(inputs), {{.name = "y", .value = y}}}; }

struct ProductShape {
  std::string name;
  int64_t rows, columns, depth;
  double target = 0.95;
  bool right_transposed = false;
  int64_t batch = 1;
  bool constant = false;  // the right operand, as the weights of a layer are
  int chain = 1;          // so many, the left operand of each the result of the one before

  double flops() const { return 2.0 * static_cast<double>(chain * batch * rows * columns * depth); }
};

std::vector<ProductShape> shapes() {
  std::vector<ProductShape> all;
  for (const int64_t size : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
    // A call of a program costs about half a microsecond, whatever it holds: small products are timed in a chain.
    all.push_back({.name = fmt::format("square.{}", size),
                   .rows = size,
                   .columns = size,
                   .depth = size,
                   .target = size < 512 ? 1.2 : 0.95,
                   .constant = size <= 64,
                   .chain = size <= 64 ? 16 : 1});
  }
  for (const int64_t rows : {1, 4, 13, 128}) {
    for (const auto& [columns, depth] : {std::pair<int64_t, int64_t>{3072, 768}, {768, 3072}, {768, 768}}) {
      all.push_back({.name = fmt::format("rows{}.{}x{}", rows, columns, depth),
                     .rows = rows,
                     .columns = columns,
                     .depth = depth,
                     .target = 1.2,
                     .constant = true});
    }
  }
  all.push_back({.name = "batched.12x128x128x64",
                 .rows = 128,
                 .columns = 128,
                 .depth = 64,
                 .target = 1.2,
                 .right_transposed = true,
                 .batch = 12});
  all.push_back(
      {.name = "batched.12x128x64x128", .rows = 128, .columns = 64, .depth = 128, .target = 1.2, .batch = 12});
  return all;
}

std::string name_of(const ProductShape& shape, int threads) { return fmt::format("{}.{}t", shape.name, threads); }

int repeats(double flops) { return std::max(1, static_cast<int>(kFlopsOfARound / flops)); }

class Benchmark {
 public:
  Benchmark(bench::Report& report, const bench::OpenBlas* blas) : report_(report), blas_(blas) {}

  void product(const ProductShape& shape, int threads) {
    if (!report_.wants(name_of(shape, threads))) return;
    const Array left = numbers({shape.batch, shape.rows, shape.depth});
    const Array right = shape.right_transposed ? numbers({shape.batch, shape.columns, shape.depth})
                                               : numbers({shape.batch, shape.depth, shape.columns});
    if (shape.constant) {
      const Value x = input("x", tenon::shape(f32, 1, "m", shape.depth));
      Value y = x;
      for (int i = 0; i < shape.chain; ++i) {
        y = matmul(y, constant(right));
      }
      compare(shape, threads, left, right, Bound(graph_of({x}, y), {left}, threads));
    } else {
      const Value a = input("a", tenon::shape(f32, "b", "m", "k"));
      const Value b = shape.right_transposed ? input("w", tenon::shape(f32, "b", "n", "k"))
                                             : input("w", tenon::shape(f32, "b", "k", "n"));
      const Value y = matmul(a, shape.right_transposed ? transpose(b, {0, 2, 1}) : b);
      compare(shape, threads, left, right, Bound(graph_of({a, b}, y), {left, right}, threads));
    }
  }

  void compare(const ProductShape& shape, int threads, const Array& left, const Array& right, const Bound& ours) {
    Array theirs[] = {numbers({shape.batch, shape.rows, shape.columns}),
                      numbers({shape.batch, shape.rows, shape.columns})};
    const auto their_run = [&] {
      for (int64_t i = 0; i < shape.batch * shape.chain; ++i) {
        const int64_t batch = i % shape.batch;
        const Array& from = i < shape.batch ? left : theirs[i % 2];
        blas_->multiply(
            {.left = from.values<float>().data() + batch * shape.rows * shape.depth,
             .left_row = shape.depth,
             .right = right.values<float>().data() + batch * shape.depth * shape.columns,
             .right_depth = shape.right_transposed ? 1 : shape.columns,
             .right_column = shape.right_transposed ? shape.depth : 1,
             .tile = theirs[(i + 1) % 2].mutable_values<float>().data() + batch * shape.rows * shape.columns,
             .tile_row = shape.columns,
             .rows = shape.rows,
             .columns = shape.columns,
             .depth = shape.depth});
      }
    };
    if (blas_ != nullptr) blas_->use_threads(threads);
    std::vector<double> time, ratio, share, their_share;
    for (int round = -1; round < kRounds; ++round) {
      const double t = settled_seconds_of(threads, repeats(shape.flops()), [&] { ours.run(); });
      const double o = blas_ == nullptr ? t : settled_seconds_of(threads, repeats(shape.flops()), their_run);
      const double least = shape.flops() / (threads * bench::peak_flops());
      if (round < 0) continue;  // memory and caches are new
      time.push_back(t);
      ratio.push_back(o / t);
      share.push_back(100 * least / t);
      their_share.push_back(100 * least / o);
    }
    const std::string name = name_of(shape, threads);
    const std::string note =
        fmt::format("{:.1f} GFLOP/s, {:.0f} % of peak{}, {:.2f} us{}", 1e-9 * shape.flops() / median(time),
                    median(share), blas_ == nullptr ? "" : fmt::format(" (OpenBLAS {:.0f} %)", median(their_share)),
                    1e6 * median(time), shape.chain > 1 ? fmt::format(" for a chain of {}", shape.chain) : "");
    if (blas_ == nullptr) {
      report_.add_pending(name, "x OpenBLAS", shape.target, bench::Better::higher, note);
      return;
    }
    log_sum_ += std::log(median(ratio));
    ++count_;
    report_.add(name, median(ratio), "x OpenBLAS", shape.target, bench::Better::higher, note);
  }

  void mean() {
    if (count_ > 0) {
      report_.add("geometric_mean", std::exp(log_sum_ / count_), "x OpenBLAS", 1.0, bench::Better::higher);
    }
  }

  /// Bias, gelu and residual on top of a product, and the product alone.
  void epilogue(int64_t columns, int64_t depth, bool is_constant) {
    const std::string name = fmt::format("epilogue.{}.128x{}x{}", is_constant ? "constant" : "given", columns, depth);
    if (!report_.wants(name)) return;
    const Value x = input("x", tenon::shape(f32, "rows", depth));
    const Array right = numbers({depth, columns});
    const Value w = is_constant ? constant(right) : input("w", tenon::shape(f32, depth, columns));
    const Value bias = input("bias", tenon::shape(f32, columns));
    const Value residual = input("residual", tenon::shape(f32, "rows", columns));
    const Array left = numbers({128, depth});
    const auto bound = [&](const Value& y, std::vector<Value> inputs, std::vector<Array> arrays) {
      if (!is_constant) {
        inputs.push_back(w);
        arrays.push_back(right);
      }
      return Bound(graph_of(std::move(inputs), y), arrays, 1);
    };
    const Bound plain = bound(matmul(x, w), {x}, {left});
    const Bound fused = bound(gelu(matmul(x, w) + bias) + residual, {x, bias, residual},
                              {left, numbers({columns}), numbers({128, columns})});
    std::vector<double> ratio;
    for (int round = -1; round < kRounds; ++round) {
      const double t = seconds_of(1, 2, [&] { fused.run(); });
      const double o = seconds_of(1, 2, [&] { plain.run(); });
      if (round >= 0) ratio.push_back(t / o);
    }
    report_.add(name, 100 * (median(ratio) - 1), "% of the product", 3);
  }

  void attention_at(int64_t keys, int threads) {
    const std::string name = fmt::format("attention.{}.{}t", keys, threads);
    if (!report_.wants(name)) return;
    const auto head = [](const std::string& of, const std::string& length) {
      return input(of, tenon::shape(f32, "batch", 12, length, 64));
    };
    const Value q = head("q", "query");
    const Value k = head("k", "key");
    const Value v = head("v", "key");
    const Graph graph = graph_of({q, k, v}, attention(q, k, v));
    const std::vector<Array> arrays{numbers({8, 12, keys, 64}), numbers({8, 12, keys, 64}), numbers({8, 12, keys, 64})};
    const Bound fused(graph, arrays, threads);
    const Bound unfused(graph, arrays, threads, {.fuse = false});
    std::vector<double> ratio, time;
    for (int round = -1; round < 5; ++round) {
      const double t = seconds_of(threads, 1, [&] { fused.run(); });
      const double o = seconds_of(threads, 1, [&] { unfused.run(); });
      if (round < 0) continue;
      ratio.push_back(o / t);
      time.push_back(t);
    }
    const double flops = 4.0 * 8 * 12 * 64 * static_cast<double>(keys * keys);
    report_.add(name, median(ratio), "x unfused", 2, bench::Better::higher,
                fmt::format("{:.1f} GFLOP/s", 1e-9 * flops / median(time)));
  }

 private:
  bench::Report& report_;
  const bench::OpenBlas* blas_;
  double log_sum_ = 0;
  int count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  const bench::OpenBlas* const blas = bench::OpenBlas::find();
  if (blas == nullptr)
    fmt::print(stderr, "bench contract: OpenBLAS is not installed (libopenblas0); nothing to compare with\n");
  Benchmark benchmark(report, blas);
  for (const int threads : {1, 2}) {
    for (const ProductShape& shape : shapes()) {
      benchmark.product(shape, threads);
    }
  }
  benchmark.mean();
  for (const bool is_constant : {true, false}) {
    benchmark.epilogue(3072, 768, is_constant);
    benchmark.epilogue(768, 3072, is_constant);
  }
  bench::measure_convolutions(report);
  for (const int threads : {1, 2}) {
    benchmark.attention_at(512, threads);
  }
  return report.finish();
}
