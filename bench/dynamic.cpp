// One executable at thousands of sizes: what a binding, a hit, a step and a first run cost, whether memory stays flat,
// and whether sizes that are arguments make kernels slower than sizes that are constants.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "passes/rewriting/canonicalize.h"
#include "support/report.h"
#include "support/resident.h"
#include "tenon/compile.h"
#include "tenon/tenon.h"

namespace {

using namespace tenon;  // NOLINT: the graphs read like the documentation

constexpr int kBindings = 10000;
constexpr int kSamples = 200;  // of resident memory

double microseconds(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double quantile(std::vector<double> values, double q) {
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// Sizes of names, at random.
struct Range {
  std::string name;
  int64_t least = 1;
  int64_t most = 1;
};

std::vector<Bindings> random_bindings(const std::vector<Range>& ranges, int count, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<Bindings> result(static_cast<size_t>(count));
  for (Bindings& bindings : result) {
    for (const Range& range : ranges) {
      const auto span = static_cast<uint64_t>(range.most - range.least + 1);
      bindings.set(range.name, range.least + static_cast<int64_t>(rng() % span));
    }
  }
  return result;
}

/// Every batch with every length, mixed.
std::vector<Bindings> all_pairs(int64_t most) {
  std::vector<Bindings> result;
  for (int64_t batch = 1; batch <= most; ++batch) {
    for (int64_t seq = 1; seq <= most; ++seq) {
      result.push_back({{"batch", batch}, {"seq", seq}});
    }
  }
  std::ranges::shuffle(result, std::mt19937_64(6));
  return result;
}

/// Every combination of sizes.
std::vector<Bindings> all_of(const std::vector<std::pair<std::string, std::vector<int64_t>>>& sizes) {
  std::vector<Bindings> result(1);
  for (const auto& [name, list] : sizes) {
    std::vector<Bindings> longer;
    for (const Bindings& bindings : result) {
      for (const int64_t size : list) {
        longer.push_back(bindings);
        longer.back().set(name, size);
      }
    }
    result = std::move(longer);
  }
  return result;
}

std::vector<Array> inputs_at(const Executable& executable, const Bindings& bindings) {
  std::vector<Array> inputs;
  for (const Port& port : executable.inputs()) {
    inputs.push_back(Array::full(port.shape.dtype(), resolve(port.shape, bindings).dims(), 1));
  }
  return inputs;
}

/// How long all bindings take to prepare, and memory meanwhile.
void measure_specialize(bench::Report& report, const std::string& name, const Executable& executable,
                        const std::vector<Bindings>& all, std::optional<double> target, bench::ResidentCurve& curve) {
  std::vector<double> times;
  std::vector<double> calls;
  curve.name = name + ", specialised";
  for (size_t i = 0; i < all.size(); ++i) {
    const double before = executable.counters().specialize_ms;
    const int64_t made = executable.counters().specializations;
    const double call = microseconds([&] { (void)executable.memory(all[i]); });
    if (executable.counters().specializations > made) {
      times.push_back(1e3 * (executable.counters().specialize_ms - before));
      calls.push_back(call);
    }
    if (i % (all.size() / kSamples) == 0) {
      curve.sample(static_cast<double>(i));
    }
  }
  const RunCounters counters = executable.counters();
  report.add(name + ".specialize.median", median(times), "us", target, bench::Better::lower,
             fmt::format("{} steps, {} bindings, {} evicted, {} kB kept", executable.steps().size(), times.size(),
                         counters.evictions, counters.cached_bytes / 1000));
  report.add(name + ".specialize.p99", quantile(times, 0.99), "us");
  report.add(name + ".specialize.call", median(calls), "us", std::nullopt, bench::Better::lower,
             "with the shapes of inputs from names, which a run has");
  report.add(name + ".compiles", static_cast<double>(counters.compiles), "compiles", 1);
}

/// What a run pays that is the first at sizes like its own: nothing is known of their tiles.
void measure_first_sight(bench::Report& report, const std::string& name, const Executable& executable,
                         const std::vector<Bindings>& unlike, double target) {
  std::vector<double> times;
  for (const Bindings& bindings : unlike) {
    const std::vector<Array> inputs = inputs_at(executable, bindings);
    const double before = executable.counters().specialize_ms;
    (void)executable.run(inputs);
    times.push_back(1e3 * (executable.counters().specialize_ms - before));
  }
  report.add(name + ".specialize.first_sight", median(times), "us", target, bench::Better::lower,
             fmt::format("in runs, each the first of its powers of two; the slowest of {} took {:.1f} us", times.size(),
                         quantile(times, 1)));
}

/// What the choice of tiles adds to a binding: both executables at the same sizes, in turns. The target is for CI, on
/// any machine: it was a hundred once.
void compare_regions(bench::Report& report, const std::string& name, const Graph& graph,
                     const std::vector<Range>& ranges, uint64_t seed) {
  if (!report.wants(name + ".specialize.regions")) {
    return;
  }
  constexpr int kCompared = 2000;
  const Executable with = compile(graph);
  const Executable without = compile(graph, {.pipelines = false});
  const auto specialize = [](const Executable& executable, const Bindings& bindings, std::vector<double>& times) {
    const double before = executable.counters().specialize_ms;
    (void)executable.memory(bindings);
    times.push_back(1e3 * (executable.counters().specialize_ms - before));
  };
  std::vector<double> ours;
  std::vector<double> plain;
  for (const Bindings& bindings : random_bindings(ranges, kCompared, seed)) {
    specialize(with, bindings, ours);
    specialize(without, bindings, plain);
  }
  report.add(name + ".specialize.regions", median(ours) / median(plain), "x", 4, bench::Better::lower,
             fmt::format("{:.1f} us with tiles, {:.1f} without", median(ours), median(plain)));
}

void run_sample(bench::Report& report, const std::string& name, const Executable& executable,
                const std::vector<Bindings>& sample) {
  std::vector<double> ratios;
  for (const Bindings& bindings : sample) {
    const std::vector<Array> inputs = inputs_at(executable, bindings);
    executable.specialize(bindings);
    const double first = microseconds([&] { (void)executable.run(inputs); });
    std::vector<double> later;
    for (int i = 0; i < 3; ++i) {
      later.push_back(microseconds([&] { (void)executable.run(inputs); }));
    }
    ratios.push_back(first / median(later));
  }
  report.add(name + ".first_run", median(ratios), "x", 1.1, bench::Better::lower,
             fmt::format("the first run after specialize, over later ones; {} bindings", sample.size()));
}

/// A small model at all bindings: memory must end flat.
void run_all(bench::Report& report, const std::string& name, const Executable& executable,
             const std::vector<Bindings>& all, bench::ResidentCurve& curve, const std::string& picture) {
  constexpr int64_t kBudget = int64_t{8} << 20;  // filled soon
  executable.set_memory_budget(kBudget);
  curve.name = name + ", run";
  for (size_t i = 0; i < all.size(); ++i) {
    (void)executable.run(inputs_at(executable, all[i]));
    if (i % (all.size() / kSamples) == 0) {
      curve.sample(static_cast<double>(i));
    }
  }
  const RunCounters counters = executable.counters();
  report.add(name + ".compiles", static_cast<double>(counters.compiles), "compiles", 1, bench::Better::lower,
             fmt::format("{} runs, {} specializations, {} evicted", counters.runs, counters.specializations,
                         counters.evictions));
  report.add(name + ".kept", static_cast<double>(counters.cached_bytes + counters.idle_bytes) / 1e6, "MB",
             static_cast<double>(kBudget) / 1e6);
  const double grown = curve.slope(curve.done.size() / 2) * kBindings;
  report.add(name + ".grown", grown / 1e6, "MB", 1, bench::Better::lower,
             fmt::format("over 10,000 bindings at the slope of the second half; {:.1f} MB resident, see {}",
                         curve.bytes.back() / 1e6, picture));
}

void measure_hit(bench::Report& report) {
  const Value x = input("x", shape(f32, "n"));
  const Executable executable = compile(Graph({x}, {{"y", x * 0.5}}));
  const Array in(f32, {64});
  std::vector<TensorView> from = {view_of(in)};
  Array out(f32, {64});
  const std::vector<TensorView> to = {writable_view_of(out)};
  constexpr int kRepeats = 2000;
  std::vector<double> owned;
  std::vector<double> placed;
  const std::vector<Array> inputs = {in};
  for (int round = 0; round < 21; ++round) {
    owned.push_back(microseconds([&] {
      for (int i = 0; i < kRepeats; ++i) {
        (void)executable.run(inputs);
      }
    }));
    placed.push_back(microseconds([&] {
      for (int i = 0; i < kRepeats; ++i) {
        executable.run_into(from, to);
      }
    }));
  }
  report.add("hit", median(placed) / kRepeats, "us", 0.5, bench::Better::lower,
             "a whole run of one kernel over 64 floats, into memory of the caller's");
  report.add("hit.run", median(owned) / kRepeats, "us", std::nullopt, bench::Better::lower,
             "the same with a new array for the result");
}

void measure_chain(bench::Report& report) {
  constexpr int kSteps = 1000;
  const Value x = input("x", shape(f32, "n"));
  const Value y = input("y", shape(f32, "n"));
  Value last = x;
  for (int i = 0; i < kSteps; ++i) {
    last = i % 2 == 0 ? last + y : last * y;
  }
  const Executable executable = compile(Graph({x, y}, {{"z", last}}), {.fuse = false});
  const std::vector<Array> inputs = {Array::full(f32, {64}, 1), Array::full(f32, {64}, 0.5)};
  std::vector<double> times;
  for (int round = 0; round < 101; ++round) {
    times.push_back(microseconds([&] { (void)executable.run(inputs); }));
  }
  report.add("chain.step", median(times) / executable.kernel_count(), "us", 0.2, bench::Better::lower,
             fmt::format("{} kernels over 64 floats each", executable.kernel_count()));
}

/// The same graph with its sizes as constants, at each of a few bindings.
void compare_static(bench::Report& report, const std::string& name, const Graph& graph, const Executable& dynamic,
                    const std::vector<Bindings>& sample) {
  std::vector<double> ratios;
  int kernels = 0;
  for (const Bindings& bindings : sample) {
    tenon::passes::Substitution sizes;
    for (const auto& [axis, size] : bindings) {
      sizes.emplace(axis, Extent(size));
    }
    const Executable fixed = compile(tenon::passes::rename_axes(graph, sizes), {.disk_cache = false});
    kernels = fixed.kernel_count();
    const std::vector<Array> inputs = inputs_at(dynamic, bindings);
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int round = -1; round < 5; ++round) {
      const double a = microseconds([&] { (void)dynamic.run(inputs); });
      const double b = microseconds([&] { (void)fixed.run(inputs); });
      if (round >= 0) {
        ours.push_back(a);
        theirs.push_back(b);
      }
    }
    ratios.push_back(*std::ranges::min_element(theirs) / *std::ranges::min_element(ours));
  }
  report.add(name + ".static", median(ratios), "x", 0.97, bench::Better::higher,
             fmt::format("speed against constant sizes, median of {} bindings; worst {:.3f}; {} kernels against {}",
                         sample.size(), *std::ranges::min_element(ratios), dynamic.kernel_count(), kernels));
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  const std::vector<Range> text = {{"batch", 1, 64}, {"seq", 1, 512}};
  const std::vector<Range> images = {{"batch", 1, 64}, {"height", 32, 512}, {"width", 32, 512}};
  const std::vector<std::pair<std::string, std::vector<int64_t>>> few_images = {
      {"batch", {1, 2, 4}}, {"height", {100, 224}}, {"width", {128, 224}}};
  compare_regions(report, "bert_base", with_weights(bert()), text, 11);
  compare_regions(report, "resnet18", with_weights(resnet()), images, 12);
  compare_regions(report, "mobilenet_v2", with_weights(mobilenet_v2()), images, 13);
  const auto wants = [&](const std::string& name) {
    const std::vector<std::string> parts = {"",
                                            ".run",
                                            ".step",
                                            ".specialize.median",
                                            ".specialize.p99",
                                            ".specialize.first_sight",
                                            ".specialize.call",
                                            ".first_run",
                                            ".static",
                                            ".kept",
                                            ".compiles",
                                            ".grown"};
    return std::ranges::any_of(parts, [&](const std::string& part) { return report.wants(name + part); });
  };
  std::vector<bench::ResidentCurve> curves(4);
  const std::string picture = (std::filesystem::path(argv[0]).parent_path() / "dynamic-memory.svg").string();
  if (wants("hit")) {
    measure_hit(report);
  }
  if (wants("chain")) {
    measure_chain(report);
  }
  if (wants("bert_base")) {
    const Executable bert_base = compile(with_weights(bert()));
    measure_first_sight(report, "bert_base", bert_base, all_of({{"batch", {1, 2, 8}}, {"seq", {33, 65, 129}}}), 50);
    measure_specialize(report, "bert_base", bert_base, random_bindings(text, kBindings, 1), 50, curves[0]);
    run_sample(report, "bert_base", bert_base, random_bindings({{"batch", 1, 1}, {"seq", 8, 32}}, 3, 2));
  }
  if (wants("resnet18")) {
    const Executable resnet18 = compile(with_weights(resnet()));
    measure_first_sight(report, "resnet18", resnet18, all_of(few_images), 25);
    measure_specialize(report, "resnet18", resnet18, random_bindings(images, kBindings, 3), 25, curves[1]);
    run_sample(report, "resnet18", resnet18,
               random_bindings({{"batch", 1, 1}, {"height", 32, 96}, {"width", 32, 96}}, 3, 4));
  }
  if (wants("mobilenet_v2")) {
    const Executable mobilenet = compile(with_weights(mobilenet_v2()));
    measure_first_sight(report, "mobilenet_v2", mobilenet, all_of(few_images), 60);
    measure_specialize(report, "mobilenet_v2", mobilenet, random_bindings(images, kBindings, 7), 60, curves[2]);
  }
  if (wants("narrow_encoder")) {
    const Graph narrow = with_weights(bert({.layers = 2, .heads = 2, .width = 64, .hidden = 128}));
    compare_static(report, "narrow_encoder", narrow, compile(narrow),
                   random_bindings({{"batch", 4, 16}, {"seq", 32, 200}}, 20, 5));
  }
  if (wants("tiny_encoder")) {
    const Graph tiny = with_weights(bert({.layers = 1, .heads = 1, .width = 16, .hidden = 32}));
    run_all(report, "tiny_encoder", compile(tiny), all_pairs(100), curves[3], picture);
    std::erase_if(curves, [](const bench::ResidentCurve& curve) { return curve.done.empty(); });
    bench::write_svg(picture, curves);
  }
  return report.finish();
}
