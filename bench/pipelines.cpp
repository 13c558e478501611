// What running chains of kernels tile by tile gives: each program against itself with pipelines off, in turns, with one
// thread and with all. Ratios of time, and of the memory of intermediates.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/numbers.h"
#include "support/pipeline_graphs.h"
#include "support/report.h"
#include "support/timing.h"
#include "tenon/models.h"
#include "tenon/tenon.h"

namespace {

using bench::median;
using namespace tenon;  // NOLINT: the graphs read like the documentation

constexpr int kRounds = 9;
constexpr double kSecondsOfARound = 0.05;
constexpr int kRoundsOfLong = 3;  // of programs that take
constexpr double kLong = 1;       // seconds and more
constexpr int kTracedRounds = 5;

struct Case {
  std::string name;
  std::function<Graph()> make;
  Bindings at;
  bool is_block = true;    // a part of a model
  double most_memory = 0;  // of what it takes with pipelines off; 0: no goal
};

Graph model(const std::string& name) { return with_weights(find_model(name).build()); }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int64_t hidden : {64, 256, 1024}) {
    all.push_back({fmt::format("dense_dense_norm_{}", hidden),
                   [=] { return bench::dense_dense_norm(hidden); },
                   {{"rows", 16384}},
                   true,
                   0.3});
  }
  const auto images = [](int64_t batch, int64_t side) {
    return Bindings{{"batch", batch}, {"height", side}, {"width", side}};
  };
  for (const auto& [side, channels] : {std::pair{112, 32}, {56, 64}, {28, 128}, {14, 256}}) {
    const int64_t c = channels;
    all.push_back({fmt::format("depthwise_pointwise_{}", side), [=] { return bench::depthwise_pointwise(c); },
                   images(8, side), true, 0.3});
  }
  for (const auto& [side, channels] : {std::pair{112, 16}, {56, 24}, {28, 32}, {14, 96}}) {
    const int64_t c = channels;
    all.push_back({fmt::format("inverted_residual_{}", side), [=] { return bench::inverted_residual(c); },
                   images(8, side), true, 0.3});
  }
  for (const int64_t channels : {16, 32, 64}) {
    all.push_back({fmt::format("two_convolutions_{}", channels), [=] { return bench::two_convolutions(channels); },
                   images(1, 512), true, 0.3});
  }
  all.push_back({"inception", bench::inception, images(8, 28), true, 0.3});
  all.push_back({"norms", bench::norms, {{"rows", 16384}}, true, 0.3});
  for (const std::string name : {"mobilenet_v2", "efficientnet_b0", "unet", "resnet18"}) {
    for (const int64_t batch : {1, 8}) {
      const bool has_goal = batch == 8 && (name == "mobilenet_v2" || name == "unet");
      const Bindings at =
          name == "unet" ? Bindings{{"batch", batch}, {"rows", 16}, {"columns", 16}} : images(batch, 224);
      all.push_back({fmt::format("{}_{}", name, batch), [=] { return model(name); }, at, false, has_goal ? 0.5 : 0.0});
    }
  }
  all.push_back({"bert_base", [] { return model("bert_base"); }, {{"batch", 8}, {"seq", 128}}, false, 0.0});
  return all;
}

/// Medians of rounds in which one is measured right after the other.
double ratio(const Executable& off, const Executable& on, const std::vector<Array>& inputs, int threads) {
  const auto seconds = [&](const Executable& executable, int times) {
    return bench::seconds_of(threads, times, [&] { executable.run(inputs, {.threads = threads}); });
  };
  const double both = seconds(off, 1) + seconds(on, 1);
  const int times = std::max(1, static_cast<int>(kSecondsOfARound / both));
  const int rounds = both > kLong ? kRoundsOfLong : kRounds;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double first = seconds(round % 2 == 0 ? off : on, times);
    const double second = seconds(round % 2 == 0 ? on : off, times);
    ratios.push_back(round % 2 == 0 ? first / second : second / first);
  }
  return median(ratios);
}

/// Of the time that threads have from the first kernel of a run to the end of the last, the part in which they run
/// none: at the ends of steps, and in steps that fewer threads share. By traces.
double waiting(const Executable& executable, const std::vector<Array>& inputs) {
  std::vector<double> parts;
  for (int round = 0; round < kTracedRounds; ++round) {
    Trace trace;
    executable.run(inputs, {.trace = &trace});
    int64_t begin = INT64_MAX;
    int64_t end = 0;
    double busy = 0;
    for (const TraceEvent& event : trace.events()) {
      begin = std::min(begin, event.begin_ns);
      end = std::max(end, event.end_ns);
      busy += static_cast<double>(event.end_ns - event.begin_ns);
    }
    const auto had = static_cast<double>(executable.capabilities().threads) * static_cast<double>(end - begin);
    parts.push_back(1 - busy / had);
  }
  return median(parts);
}

std::string tiled_text(const Executable& executable, const Bindings& at) {
  int steps = 0;
  for (const PipelineReport& report : executable.pipelines(at)) {
    steps += report.tiled ? report.steps : 0;
  }
  return fmt::format("{} of {} steps in tiles", steps, executable.steps().size());
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  double logs = 0;
  int counted = 0;
  for (const Case& each : cases()) {
    if (!report.wants(each.name)) {
      continue;
    }
    const Graph graph = each.make();
    const Executable on = compile(graph);
    const Executable off = compile(graph, {.pipelines = false});
    std::vector<Array> inputs;
    for (const Port& port : on.inputs()) {
      const std::vector<int64_t> dims = resolve(port.shape, each.at).dims();
      inputs.push_back(port.shape.dtype() == f32 ? bench::numbers(dims) : Array::full(port.shape.dtype(), dims, 1));
    }
    const std::string note = tiled_text(on, each.at);
    for (const int threads : {1, 0}) {
      const double faster = ratio(off, on, inputs, threads);
      report.add(fmt::format("{}_{}", each.name, threads == 1 ? "one" : "all"), faster, "x", 0.98,
                 bench::Better::higher, note);
      logs += each.is_block ? std::log(faster) : 0;
      counted += each.is_block ? 1 : 0;
    }
    if (on.capabilities().threads > 1) {
      report.add(each.name + "_waiting", waiting(on, inputs), "of threads' time", std::nullopt, bench::Better::lower,
                 fmt::format("{:.3f} with pipelines off", waiting(off, inputs)));
    }
    const double bytes = static_cast<double>(off.memory(each.at).arena_bytes);
    if (bytes > 0) {
      report.add(each.name + "_memory", static_cast<double>(on.memory(each.at).arena_bytes) / bytes, "of off",
                 each.most_memory > 0 ? std::optional(each.most_memory) : std::nullopt);
    }
  }
  if (counted > 0) {
    report.add("blocks", std::exp(logs / counted), "x", 1.15, bench::Better::higher, "geometric mean");
  }
  return report.finish();
}
