// What a second thread gives at sizes from nothing to plenty: the time of one thread by the time of two. A cost model
// decides whether work is shared out, and where it is wrong two threads lose. Kernels run one right after the other, as
// in a loop over requests, or with pauses that are long enough for the threads of the pool to fall asleep.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "support/numbers.h"
#include "support/report.h"
#include "support/timing.h"
#include "tenon/compile.h"
#include "tenon/models.h"
#include "tenon/tenon.h"

namespace {

using bench::median;
using bench::numbers;
using bench::read_clock;
using namespace tenon;  // NOLINT: the graphs read like the documentation

constexpr double kTarget = 0.95;
constexpr int kPasses = 5;
constexpr int kRounds = 41;
constexpr int kRoundsAsleep = 101;
constexpr double kSecondsOfARound = 3e-4;
constexpr double kSecondsOfASize = 0.1;  // in one pass
constexpr double kPause = 2e-4;          // a thread without work is asleep by then

/// One graph, compiled once, at many sizes of an axis; others are 1.
struct Kind {
  std::string name;
  std::vector<int64_t> sizes;
  std::function<Graph()> make;
  std::string axis = "n";
};

Graph graph_of(std::vector<Value> inputs, const Value& y) { return {std::move(inputs), {{.name = "y", .value = y}}}; }

std::vector<int64_t> powers(int64_t first, int64_t factor, int count) {
  std::vector<int64_t> all;
  for (int64_t size = first; std::ssize(all) < count; size *= factor) {
    all.push_back(size);
  }
  return all;
}

Value weights(int64_t rows, int64_t columns) { return constant(Array::full(f32, {rows, columns}, 0.01)); }

std::vector<Kind> kinds() {
  const auto on = [](Shape shape, const std::function<Value(const Value&)>& f) {
    return [=] {
      const Value x = input("x", shape);
      return graph_of({x}, f(x));
    };
  };
  const auto on_two = [](Shape left, Shape right, const std::function<Value(const Value&, const Value&)>& f) {
    return [=] {
      const Value a = input("a", left);
      const Value b = input("b", right);
      return graph_of({a, b}, f(a, b));
    };
  };
  return {
      {"add", powers(256, 4, 8), on_two(shape(f32, "n"), shape(f32, "n"), [](auto& a, auto& b) { return a + b; })},
      {"add_bytes", powers(256, 4, 8), on_two(shape(u8, "n"), shape(u8, "n"), [](auto& a, auto& b) { return a + b; })},
      {"functions", powers(256, 4, 7), on(shape(f32, "n"), [](auto& x) { return gelu(tanh(x) * exp(x) + x); })},
      {"transpose", powers(16, 2, 8), on(shape(f32, "n", "n"), [](auto& x) { return transpose(x, {1, 0}); })},
      {"sum", powers(256, 4, 8), on(shape(f32, "n"), [](auto& x) { return reduce_sum(x); })},
      {"column_sums", powers(4, 4, 7), on(shape(f32, "n", 256), [](auto& x) { return reduce_sum(x, {0}); })},
      {"softmax", powers(1, 4, 8), on(shape(f32, "n", 128), [](auto& x) { return softmax(x); })},
      {"layer_norm", powers(1, 4, 7), on(shape(f32, "n", 768), [](auto& x) { return layer_norm(x); })},
      {"square_product", powers(8, 2, 8),
       on_two(shape(f32, "n", "n"), shape(f32, "n", "n"), [](auto& a, auto& b) { return matmul(a, b); })},
      {"square_product_bf16", powers(8, 2, 8),
       on_two(shape(bf16, "n", "n"), shape(bf16, "n", "n"), [](auto& a, auto& b) { return matmul(a, b); })},
      {"rows_by_768x768", powers(1, 2, 8),
       on(shape(f32, "n", 768), [](auto& x) { return matmul(x, weights(768, 768)); })},
      {"rows_by_128x128", powers(1, 2, 9),
       on(shape(f32, "n", 128), [](auto& x) { return relu(matmul(x, weights(128, 128))); })},
      {"products_of_32", powers(1, 2, 8),
       on_two(shape(f32, "n", 32, 32), shape(f32, "n", 32, 32), [](auto& a, auto& b) { return matmul(a, b); })},
      {"products_of_12", powers(4, 2, 8),
       on_two(shape(f32, 12, "n", 64), shape(f32, 12, 64, "n"), [](auto& a, auto& b) { return matmul(a, b); })},
      {"attention", powers(4, 2, 8),
       [] {
         const auto head = [](const char* of) { return input(of, shape(f32, 1, 4, "n", 32)); };
         const Value q = head("q"), k = head("k"), v = head("v");
         return graph_of({q, k, v}, attention(q, k, v));
       }},
      {"convolution", powers(4, 2, 7),
       on(shape(f32, 1, 16, "n", "n"),
          [](auto& x) {
            return relu(conv(x, constant(Array::full(f32, {16, 16, 3, 3}, 0.01)), {.low = {1, 1}, .high = {1, 1}}));
          })},
      {"cumulative_sum", powers(1, 4, 8), on(shape(f32, "n", 256), [](auto& x) { return cumulative_sum(x); })},
      {"sort", powers(1, 4, 6), on(shape(f32, "n", 256), [](auto& x) { return sort(x); })},
      {"mlp", powers(1, 2, 9),
       [] { return with_weights(mlp({.inputs = 64, .hidden = 256, .outputs = 10, .layers = 4})); }, "batch"},
      {"encoder", powers(1, 2, 9),
       [] { return with_weights(bert({.layers = 1, .heads = 4, .width = 128, .hidden = 512})); }, "seq"},
  };
}

/// A compiled graph with arrays for it.
class Bound {
 public:
  Bound(const Executable& executable, const std::string& axis, int64_t size) : executable_(executable) {
    Bindings bindings{{axis, size}};
    if (axis != "batch") {
      bindings.set("batch", 1);
    }
    for (const Port& port : executable.inputs()) {
      inputs_.push_back(contents(port.shape.dtype(), resolve(port.shape, bindings).dims()));
    }
    outputs_ = executable_.run(inputs_);
    for (Array& each : inputs_) {
      in_.push_back(view_of(each));
    }
    for (Array& each : outputs_) {
      out_.push_back(writable_view_of(each));
    }
  }

  void run(int threads) const { executable_.run_into(in_, out_, {.threads = threads}); }

 private:
  /// Ones of other types: words, masks, halves.
  static Array contents(Dtype dtype, std::vector<int64_t> dims) {
    return dtype == f32 ? numbers(std::move(dims)) : Array::full(dtype, std::move(dims), 1);
  }

  Executable executable_;
  std::vector<Array> inputs_, outputs_;
  std::vector<TensorView> in_, out_;
};

double now() { return read_clock(CLOCK_MONOTONIC); }

double seconds_of(const Bound& bound, int threads, int times) {
  bound.run(threads);  // wakes the threads, and brings the data to where they find it
  const double begin = now();
  for (int i = 0; i < times; ++i) {
    bound.run(threads);
  }
  return (now() - begin) / times;
}

double seconds_after_a_pause(const Bound& bound, int threads) {
  const double pause = now();
  while (now() - pause < kPause) {
  }
  const double begin = now();
  bound.run(threads);
  return now() - begin;
}

struct Measured {
  double ratio = 0;
  double seconds = 0;  // of one thread
};

/// In turns, so that whatever else the machine does meets both.
Measured measure(const Bound& bound, bool asleep) {
  const double about = seconds_of(bound, 1, 1);
  const int times = asleep ? 1 : std::max(1, static_cast<int>(kSecondsOfARound / about));
  const double round = 2 * (asleep ? about + kPause : about * (times + 1));
  const int rounds = std::clamp(static_cast<int>(kSecondsOfASize / round), 7, asleep ? kRoundsAsleep : kRounds);
  std::vector<double> ones, twos;
  for (int i = 0; i < rounds; ++i) {
    ones.push_back(asleep ? seconds_after_a_pause(bound, 1) : seconds_of(bound, 1, times));
    twos.push_back(asleep ? seconds_after_a_pause(bound, 2) : seconds_of(bound, 2, times));
  }
  return {.ratio = median(ones) / median(twos), .seconds = median(ones)};
}

/// Awake or asleep, at all sizes of a kind. Other work on the machine outlasts one measurement, and there are hundreds
/// of them of which the worst counts: of each, the median of passes.
void sweep(bench::Report& report, const Kind& kind, const Executable& executable, bool asleep) {
  const std::string name = kind.name + (asleep ? ".asleep" : "");
  if (!report.wants(name)) {
    return;
  }
  std::vector<Bound> bounds;
  for (const int64_t size : kind.sizes) {
    bounds.emplace_back(executable, kind.axis, size);
  }
  std::vector<std::vector<double>> ratios(bounds.size()), seconds(bounds.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    for (size_t i = 0; i < bounds.size(); ++i) {
      const Measured m = measure(bounds[i], asleep);
      ratios[i].push_back(m.ratio);
      seconds[i].push_back(m.seconds);
    }
  }
  double worst = 1e9;
  std::string note;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const double ratio = median(ratios[i]);
    worst = std::min(worst, ratio);
    note += fmt::format("{}{} ({:.3g} us): {:.2f}", i == 0 ? "" : ", ", kind.sizes[i], 1e6 * median(seconds[i]), ratio);
  }
  report.add(name, worst, "x 1 thread", kTarget, bench::Better::higher, note);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  for (const Kind& kind : kinds()) {
    const Executable executable = compile(kind.make());
    sweep(report, kind, executable, /*asleep=*/false);
    sweep(report, kind, executable, /*asleep=*/true);
  }
  return report.finish();
}
