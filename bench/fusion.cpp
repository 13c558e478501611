// Fused chains and rows out of cache, against what bounds them: a copy of as many bytes, or the same kernel over data
// in the first cache, whichever takes longer. All in one run, interleaved, on as many threads; of each the fastest of
// many rounds, because whatever else the machine does makes things slower and never faster.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "support/kernel_times.h"
#include "support/numbers.h"
#include "support/report.h"
#include "support/timing.h"
#include "tenon/compile.h"
#include "tenon/tenon.h"

namespace {

using bench::numbers;
using bench::seconds_of;
using namespace tenon;  // NOLINT: the graphs read like the documentation

constexpr int64_t kElements = int64_t{1} << 24;
// Rounds go on until nothing has become faster for a while. All is measured several times over: other work on the
// machine can last longer than one of them.
constexpr int kSweeps = 3;
constexpr int kSettledRounds = 15;
constexpr double kFaster = 0.995;
constexpr int kMostRounds = 150;
constexpr int64_t kLongRow = int64_t{1} << 22;
// Two sizes that lie in any first cache with all that the kernels need: what a run costs beside its kernel is in both.
constexpr int64_t kSmall = 1024;
constexpr int64_t kLessSmall = 3072;
constexpr int kSmallRepeats = 250;
constexpr int kSmallShots = 8;  // in a round: the fastest of many short ones is found sooner
constexpr double kNever = std::numeric_limits<double>::infinity();

Value matrix() { return input("x", shape(f32, "row", "col")); }

Graph graph_of(std::vector<Value> inputs, const Value& y) { return {std::move(inputs), {{.name = "y", .value = y}}}; }

/// In memory that a run gave: what lies between two steps of a program, and most of what users pass on.
Array from_a_run(const Array& array) {
  const Value x = input("x", shape(f32, "n"));
  return compile(graph_of({x}, x * 0.5)).run({array})[0];
}

/// A graph and its arrays at some number of rows and columns.
struct Case {
  std::string name;
  Graph graph;
  std::vector<Array> (*inputs)(const Array& x);
  std::optional<double> gain = {};  // at least so many times as fast as one kernel for each operation
};

std::vector<Array> x_alone(const Array& x) { return {x}; }

std::vector<Array> x_scale_bias(const Array& x) { return {x, numbers({x.dims()[1]}), numbers({x.dims()[1]})}; }

std::vector<Array> x_labels(const Array& x) {
  Array labels = Array::uninitialized(i64, {x.dims()[0]});
  for (int64_t row = 0; int64_t& label : labels.mutable_values<int64_t>()) {
    label = row++ * 7 % x.dims()[1];
  }
  return {x, labels};
}

Case arithmetic_chain() {
  const Value x = matrix();
  const Value a = min(max((x + 0.25) * 1.5, -2.0) * 0.75 + 0.5, 1.25);
  return {"chain", graph_of({x}, max((a * 1.25) + -0.5, -1.0)), x_alone, 4};
}

/// Computes for longer than it takes to move its bytes, fused or not.
Case function_chain() {
  const Value x = matrix();
  const Value a = gelu(sigmoid(tanh(x) * 1.5) + -0.25);
  return {"chain_functions", graph_of({x}, sigmoid(gelu(tanh(a * 2.0) + 0.5))), x_alone};
}

std::vector<Case> row_cases() {
  const Value x = matrix();
  const Value scale = input("scale", shape(f32, "col"));
  const Value bias = input("bias", shape(f32, "col"));
  const Value labels = input("labels", shape(i64, "row"));
  return {
      {"softmax", graph_of({x}, softmax(x)), x_alone},
      {"layer_norm", graph_of({x, scale, bias}, layer_norm(x, scale, bias)), x_scale_bias},
      {"variance", graph_of({x}, variance(x, {-1}, false, 0)), x_alone},
      {"cross_entropy", graph_of({x, labels}, cross_entropy(x, labels, {.ignore_index = {}})), x_labels},
  };
}

/// A plain copy of `bytes / 2`, which reads and writes `bytes` in all.
class Copy {
 public:
  explicit Copy(const Array& from) : from_(from), to_(from_a_run(from)) {}

  /// Into `first` where that is as much memory; the rest, or all, into memory of its own.
  void run(size_t bytes, int threads, Array& first) {
    bool fits = first.byte_count() == to_.byte_count();
    for (size_t left = bytes / 2; left > 0;) {
      Array& to = std::exchange(fits, false) ? first : to_;
      const size_t now = std::min(left, to.byte_count());
      once(to, static_cast<int64_t>(now), threads);
      left -= now;
    }
  }

 private:
  void once(Array& array, int64_t count, int threads) {
    std::byte* const to = array.mutable_data();
    Pool::shared().parallel_for(
        threads, 1,
        [&](int64_t first, int64_t last, int) {
          const int64_t begin = count * first / threads;
          std::memcpy(to + begin, from_.data() + begin, static_cast<size_t>(count * last / threads - begin));
        },
        threads);
  }

  Array from_;
  Array to_;
};

size_t byte_count(const std::vector<Array>& arrays) {
  size_t bytes = 0;
  for (const Array& array : arrays) {
    bytes += array.byte_count();
  }
  return bytes;
}

/// Another way to compute the same, and how many times as fast as that it should be.
struct Other {
  std::shared_ptr<const Executable> executable = {};
  std::string name = {};
  std::optional<double> gain = {};
};

/// The fastest of many rounds.
class Fastest {
 public:
  void take(double seconds, int round) {
    if (seconds < kFaster * settled_) {
      settled_ = seconds;
      since_ = round;
    }
    seconds_ = std::min(seconds_, seconds);
  }

  /// Rounds are counted from 0 again.
  void begin_sweep() {
    settled_ = kNever;
    since_ = 0;
  }

  double seconds() const { return seconds_; }
  /// The round that was last faster by more than chance.
  int since() const { return since_; }

 private:
  double seconds_ = kNever;
  double settled_ = kNever;
  int since_ = 0;
};

struct Times {
  Fastest kernel;
  Fastest copy;
  Fastest few;
  Fastest more;
  Fastest otherwise;
  int rounds = 0;

  void begin_sweep() {
    for (Fastest* each : {&kernel, &copy, &few, &more, &otherwise}) {
      each->begin_sweep();
    }
  }
  int since() const { return std::max({kernel.since(), copy.since(), few.since(), more.since()}); }
  double in_cache(int threads) const {
    return (more.seconds() - few.seconds()) / kSmallRepeats / (kLessSmall - kSmall) * kElements / threads;
  }
};

/// What is measured: rows of so many columns.
struct Subject {
  const Case* what = nullptr;
  std::string name = {};
  std::shared_ptr<const Executable> executable = {};
  int64_t columns = 0;
  Other other = {};
  std::array<Times, 2> times = {};  // with one thread, and with two
};

/// Runs over data in the first cache, for one thread: it has nothing in common with another's, so that as many as there
/// are threads, all at the same time, are as fast as so many threads can be.
struct InCache {
  InCache(const Case& c, int64_t columns)
      : executable(compile(c.graph)),
        few(c.inputs(matrix_of(kSmall, columns))),
        more(c.inputs(matrix_of(kLessSmall, columns))) {}

  void run(const std::vector<Array> InCache::* inputs) const {
    for (int i = 0; i < kSmallRepeats; ++i) {
      (void)executable.run(this->*inputs, {.threads = 1});
    }
  }

  Executable executable;
  std::vector<Array> few;
  std::vector<Array> more;

 private:
  /// As many rows of so many columns as `elements` make, or one shorter row.
  static Array matrix_of(int64_t elements, int64_t columns) {
    return columns < elements ? numbers({elements / columns, columns}) : numbers({1, elements});
  }
};

class Benchmark {
 public:
  explicit Benchmark(bench::Report& report) : report_(report), x_(from_a_run(numbers({kElements}))), copy_(x_) {}

  /// Compile, and report how long LLVM takes for one kernel of those that the graph becomes. What it may take for a
  /// usual one is a target of bench_compile.
  std::shared_ptr<const Executable> compiled(const Case& c) {
    if (const std::string name = c.name + ".compile"; report_.wants(name)) {
      const std::vector<bench::KernelTime> times = bench::kernel_times(std::span(&c.graph, 1));
      double all = 0;
      for (const bench::KernelTime& each : times) {
        all += each.milliseconds;
      }
      report_.add(name, all / static_cast<double>(times.size()), "ms", {}, bench::Better::lower,
                  fmt::format("LLVM for a kernel, the mean of {}", times.size()));
    }
    return std::make_shared<const Executable>(compile(c.graph, {.disk_cache = false}));
  }

  bool wants(const Subject& subject) const { return report_.wants(subject.name); }

  void measure(Subject& subject) {
    const Case& c = *subject.what;
    const std::vector<Array> large = c.inputs(x_.reshaped({kElements / subject.columns, subject.columns}));
    const std::array<InCache, 2> in_cache_of = {InCache(c, subject.columns), InCache(c, subject.columns)};
    const size_t read = byte_count(large);
    const size_t written = byte_count(subject.executable->run(large));
    // A long row that is written must be read again by then.
    const size_t bytes = read + written + (subject.columns == kLongRow && written > read / 2 ? read : 0);
    for (const int threads : {1, 2}) {
      std::vector<Array> results;
      const auto run = [&](const Executable& which) {
        results.clear();  // the memory is used again
        return seconds_of(threads, 1, [&] { results = which.run(large, {.threads = threads}); });
      };
      // Each by its own clock: how soon the second thread begins is none of the kernel's.
      const auto run_small = [&](const std::vector<Array> InCache::* inputs) {
        std::array<double, 2> seconds{};
        Pool::shared().parallel_for(
            threads, 1,
            [&](int64_t first, int64_t, int) {
              const auto which = static_cast<size_t>(first);
              seconds[which] = seconds_of(1, 1, [&] { in_cache_of[which].run(inputs); });
            },
            threads);
        return std::ranges::max(seconds);
      };
      run(*subject.executable);
      copy_.run(bytes, threads, results[0]);  // memory is new
      Times& times = subject.times[static_cast<size_t>(threads - 1)];
      times.begin_sweep();
      for (int round = 0; round < kMostRounds && round - times.since() < kSettledRounds; ++round, ++times.rounds) {
        // Before each of both the same has run: caches hold the same.
        run(*subject.executable);
        times.kernel.take(run(*subject.executable), round);
        times.copy.take(seconds_of(threads, 1, [&] { copy_.run(bytes, threads, results[0]); }), round);
        for (int shot = 0; shot < kSmallShots; ++shot) {
          times.few.take(run_small(&InCache::few), round);
          times.more.take(run_small(&InCache::more), round);
        }
        if (subject.other.executable != nullptr) {
          times.otherwise.take(run(*subject.other.executable), round);
        }
      }
    }
  }

  /// Time over bound, and the time of the other way over the time.
  void report(const Subject& subject) {
    for (const int threads : {1, 2}) {
      const Times& times = subject.times[static_cast<size_t>(threads - 1)];
      const double kernel = times.kernel.seconds();
      const double copy = times.copy.seconds();
      const double in_cache = times.in_cache(threads);
      report_.add(fmt::format("{}.{}", subject.name, threads), kernel / std::max(copy, in_cache), "x", 1.15,
                  bench::Better::lower,
                  fmt::format("{:.2f} ms; copy {:.2f} ms, in cache {:.2f} ms; {} rounds", 1e3 * kernel, 1e3 * copy,
                              1e3 * in_cache, times.rounds));
      if (const Other& other = subject.other; other.executable != nullptr) {
        report_.add(fmt::format("{}.{}.{}", subject.name, other.name, threads), times.otherwise.seconds() / kernel, "x",
                    other.gain, bench::Better::higher,
                    fmt::format("{} kernels otherwise", other.executable->kernel_count()));
      }
    }
  }

 private:
  bench::Report& report_;
  Array x_;
  Copy copy_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  CompileReport warm;
  const Value x = matrix();
  (void)compile(graph_of({x}, relu(x)), {.disk_cache = false, .report = &warm});
  if (warm.code == "loop interpreter") {
    report.add_pending("fusion", "x", 1.15, bench::Better::lower, "this build makes no native code");
    return report.finish();
  }
  Benchmark benchmark(report);
  const std::array<Case, 2> chains = {arithmetic_chain(), function_chain()};
  const std::vector<Case> rows = row_cases();
  std::vector<Subject> subjects;
  const auto other_way = [](const Case& c, const CompileOptions& options) {
    return std::make_shared<const Executable>(compile(c.graph, options));
  };
  for (const Case& chain : chains) {
    subjects.push_back({&chain, chain.name, benchmark.compiled(chain), 1024,
                        Other{other_way(chain, {.fuse = false}), "fused", chain.gain}});
  }
  for (const Case& each : rows) {
    const auto executable = benchmark.compiled(each);
    for (const int64_t columns : {64, 256, 1024, 4096, 16384}) {
      subjects.push_back({&each, fmt::format("{}.{}", each.name, columns), executable, columns});
    }
    const auto kept = other_way(each, {.most_row_bytes = std::numeric_limits<int64_t>::max()});
    subjects.push_back(
        {&each, fmt::format("{}.{}", each.name, kLongRow), executable, kLongRow, Other{kept, "streamed"}});
  }
  std::erase_if(subjects, [&](const Subject& each) { return !benchmark.wants(each); });
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (Subject& each : subjects) {
      benchmark.measure(each);
    }
  }
  for (const Subject& each : subjects) {
    benchmark.report(each);
  }
  return report.finish();
}
