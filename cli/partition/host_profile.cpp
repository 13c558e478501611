#include "cli/partition/host_profile.h"

#include <unistd.h>

#include <algorithm>

#include "cli/print/stopwatch.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

using partition::Role;

/// Seconds of the fastest of several runs.
double seconds_of(const Graph& graph) {
  const Executable executable = compile(graph);
  std::vector<Array> inputs;
  for (const Value& each : graph.inputs()) {
    inputs.push_back(Array::full(each.dtype(), each.shape().dims(), 0.5));
  }
  executable.run(inputs);
  constexpr size_t least = 5;
  constexpr double budget = 40'000;
  return sample([&] { executable.run(inputs); }, least, budget).least() / 1e6;
}

Graph graph_of(const std::function<Value(const Value&)>& build, const Shape& shape) {
  const Value x = input("x", shape);
  return Graph({x}, {{"y", build(x)}});
}

/// Arithmetic a second, counted as plans count it.
double rate(const Graph& graph, double launch) {
  Extent flops = 0;
  for (const partition::Operator& op : partition::work_graph(graph).operators) {
    flops += op.flops;
  }
  const double seconds = seconds_of(graph);
  return static_cast<double>(evaluate(flops, {})) / std::max(seconds - launch, seconds / 10);
}

int64_t memory_bytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

partition::Profile host_profile() {
  const auto add_one = [](const Value& x) { return x + 1.0; };
  const double launch = seconds_of(graph_of(add_one, shape(f32, 16)));
  // Beyond all caches, and inside of the second one of each core.
  constexpr int64_t large = 1 << 24;
  const auto cores = static_cast<double>(this_machine().cpu().cores);
  const int64_t small = this_machine().cpu().second_cache / 16 * this_machine().cpu().cores;
  const double main_bandwidth = 8.0 * large / seconds_of(graph_of(add_one, shape(f32, large)));
  const double small_seconds = seconds_of(graph_of(add_one, shape(f32, small)));
  const double cache_bandwidth = 8.0 * static_cast<double>(small) / std::max(small_seconds - launch, small_seconds / 4);

  const Value weight = constant(Array::full(f32, {768, 768}, 0.01));
  const double product =
      rate(graph_of([&](const Value& x) { return dense(x, weight, {}, ""); }, shape(f32, 384, 768)), launch);
  const Value filter = constant(Array::full(f32, {128, 1, 3, 3}, 0.01));
  const ConvOptions margins{.low = {1, 1}, .high = {1, 1}, .groups = 128};
  const double depthwise =
      rate(graph_of([&](const Value& x) { return relu(conv(relu(x), filter, margins)); }, shape(f32, 1, 128, 56, 56)),
           launch);
  const double map = rate(graph_of([](const Value& x) { return gelu(x); }, shape(f32, 512, 512)), launch);
  const double row = rate(graph_of([](const Value& x) { return softmax(x, -1); }, shape(f32, 512, 512)), launch);
  const double window = rate(
      graph_of([](const Value& x) { return max_pool(x, {3, 3}, {.stride = {2, 2}}); }, shape(f32, 1, 64, 112, 112)),
      launch);

  partition::Profile profile;
  profile.name = "host";
  profile.doc = "this machine, measured";
  profile.launch = launch;
  profile.link_bandwidth = main_bandwidth;
  profile.link_latency = launch;
  const int64_t caches = this_machine().cpu().second_cache * this_machine().cpu().cores;
  profile.memories = {
      {.name = "memory", .bytes = memory_bytes(), .bandwidth = main_bandwidth},
      {.name = "caches", .bytes = caches, .bandwidth = std::max(cache_bandwidth, main_bandwidth), .cache = true},
      {.name = "cache",
       .bytes = this_machine().cpu().second_cache,
       .bandwidth = cache_bandwidth / cores,
       .cache = true}};
  // What all cores share beyond their own caches; 0 where the system does not say.
  if (const auto shared = static_cast<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE)); shared > caches) {
    const int64_t elements = std::min(shared / 16, large / 4);
    const double seconds = seconds_of(graph_of(add_one, shape(f32, elements)));
    const double bandwidth = 8.0 * static_cast<double>(elements) / std::max(seconds - launch, seconds / 4);
    profile.memories.insert(
        profile.memories.begin() + 1,
        {.name = "shared cache", .bytes = shared, .bandwidth = std::max(bandwidth, main_bandwidth), .cache = true});
  }
  partition::Unit core;
  core.name = "core";
  core.count = this_machine().cpu().cores;
  core.flops = {{"any", product / cores}};
  const auto efficiency = [&](Role role, double reached) {
    core.efficiency.emplace_back(name(role), std::clamp(reached / product, 1e-3, 1.0));
  };
  efficiency(Role::depthwise, depthwise);
  efficiency(Role::map, map);
  efficiency(Role::row, row);
  efficiency(Role::window, window);
  efficiency(Role::other, row / 4);
  core.lanes = 32;
  core.memory = "cache";
  profile.units = {core};
  return profile;
}

}  // namespace tenon::cli
