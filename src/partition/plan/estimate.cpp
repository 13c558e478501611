#include "partition/plan/estimate.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/fail.h"

namespace tenon::partition {
namespace {

bool is_product(Role role) { return role == Role::product || role == Role::depthwise; }

/// Where `bytes` that are used again and again come from: the fastest memory that holds them and that no unit has for
/// itself.
const Memory& memory_for(const Profile& profile, int64_t bytes) {
  const Memory* best = &profile.memories.front();
  for (const Memory& memory : profile.memories) {
    const bool own = std::ranges::any_of(profile.units, [&](const Unit& unit) { return unit.memory == memory.name; });
    if (!own && memory.bytes >= bytes && memory.bandwidth > best->bandwidth) {
      best = &memory;
    }
  }
  return *best;
}

/// Of a memory that does not say, as much as of the one that holds everything.
double joules_per_byte(const Profile& profile, const Memory& memory) {
  return memory.joules_per_byte > 0 ? memory.joules_per_byte : profile.memories.front().joules_per_byte;
}

}  // namespace

int64_t parallelism_of(const SizedGraph& graph, std::span<const int> operators) {
  int64_t widest = 1;
  int64_t narrowest_product = 0;
  for (const int index : operators) {
    const SizedOperator& op = graph.op(index);
    widest = std::max(widest, op.parallelism);
    if (is_product(op.role)) {
      narrowest_product = narrowest_product == 0 ? op.parallelism : std::min(narrowest_product, op.parallelism);
    }
  }
  return narrowest_product > 0 ? narrowest_product : widest;
}

int64_t weight_bytes(const SizedGraph& graph) {
  int64_t sum = 0;
  for (const SizedTensor& tensor : graph.tensors) {
    sum += tensor.weight && !tensor.readers.empty() ? tensor.bytes : 0;
  }
  return sum;
}

namespace {

double compute_seconds(const SizedGraph& graph, const Part& part, const Unit& unit) {
  double seconds = 0;
  for (const int index : part.operators) {
    const SizedOperator& op = graph.op(index);
    const double rate = rate_of(unit.flops, op.dtype, rate_of(unit.flops, "any", 1));
    const double reached = rate_of(unit.efficiency, name(op.role), 1);
    const double all = static_cast<double>(unit.lanes) * static_cast<double>(unit.count);
    const double used = std::min(1.0, static_cast<double>(op.parallelism) / all);
    seconds += op.flops / (rate * reached * static_cast<double>(unit.count) * used);
  }
  return seconds;
}

}  // namespace

double rate_of(const std::vector<std::pair<std::string, double>>& table, std::string_view key, double otherwise) {
  const auto at = std::ranges::find(table, key, [](const auto& entry) { return std::string_view(entry.first); });
  return at == table.end() ? otherwise : at->second;
}

int64_t working_set(const SizedGraph& graph, std::span<const int> operators, const PartFlow& flow) {
  std::unordered_map<int, size_t> last;  // reader of each tensor here
  for (size_t i = 0; i < operators.size(); ++i) {
    for (const SizedRead& read : graph.op(operators[i]).reads) {
      last[read.tensor] = i;
    }
  }
  int64_t weights = 0;
  int64_t live = 0;
  for (const PartFlow::In& in : flow.in) {
    (graph.tensor(in.tensor).weight ? weights : live) += in.bytes;
  }
  const auto ends = [&](int tensor, size_t at) {
    const auto reader = last.find(tensor);
    return (reader == last.end() || reader->second <= at) && !std::ranges::binary_search(flow.out, tensor);
  };
  int64_t most = live;
  for (size_t i = 0; i < operators.size(); ++i) {
    const SizedOperator& op = graph.op(operators[i]);
    for (const int tensor : op.writes) {
      live += graph.tensor(tensor).written();
    }
    most = std::max(most, live);
    for (const SizedRead& read : op.reads) {
      if (!graph.tensor(read.tensor).weight && ends(read.tensor, i)) {
        const auto at = std::ranges::lower_bound(flow.in, read.tensor, {}, &PartFlow::In::tensor);
        const bool outside = at != flow.in.end() && at->tensor == read.tensor;
        live -= outside ? at->bytes : graph.tensor(read.tensor).written();
      }
    }
    for (const int tensor : op.writes) {
      live -= ends(tensor, i) ? graph.tensor(tensor).written() : 0;
    }
  }
  return most + weights;
}

int64_t tiles_for(const SizedGraph& graph, std::span<const int> operators, int64_t bytes, const Profile& profile,
                  const Unit& unit) {
  const Memory& memory = profile.memory(unit.memory);
  for (const int index : operators) {
    const SizedOperator& op = graph.op(index);
    if (op.least_bytes > memory.bytes && !memory.cache) {
      fail("operator `{}` needs {} bytes for its smallest piece, and memory `{}` of `{}` has {}", op.name,
           op.least_bytes, memory.name, profile.name, memory.bytes);
    }
  }
  return std::max<int64_t>(1, bytes / memory.bytes + (bytes % memory.bytes > 0 ? 1 : 0));
}

int64_t tiles_of_flops(const SizedGraph& graph, std::span<const int> operators, double limit) {
  double flops = 0;
  for (const int index : operators) {
    flops += graph.op(index).flops;
  }
  return limit > 0 && flops > limit ? static_cast<int64_t>(std::ceil(flops / limit)) : 1;
}

namespace {

/// What moves beyond a part's own bytes where its operators run one after the other, each in tiles of its own.
int64_t bytes_again_apart(const SizedGraph& graph, std::span<const int> operators, const PartFlow& flow,
                          int64_t memory) {
  int64_t sum = 0;
  for (const int index : operators) {
    int64_t weights = 0;
    int64_t activations = 0;
    int64_t written = 0;
    for (const SizedRead& read : graph.op(index).reads) {
      (graph.tensor(read.tensor).weight ? weights : activations) += read.bytes;
      const auto at = std::ranges::lower_bound(flow.in, read.tensor, {}, &PartFlow::In::tensor);
      sum += at == flow.in.end() || at->tensor != read.tensor ? read.bytes : 0;  // put aside by an operator before
    }
    for (const int tensor : graph.op(index).writes) {
      written += graph.tensor(tensor).written();
      sum += std::ranges::binary_search(flow.out, tensor) ? 0 : graph.tensor(tensor).written();
    }
    sum += (weights + activations + written) / memory * std::min(weights, activations);
  }
  return sum;
}

}  // namespace

Figures figures_of(const SizedGraph& graph, const Part& part, const PartFlow& flow, const Profile& profile,
                   const Unit& unit, const Surroundings& around) {
  Figures figures;
  int64_t linked = 0;
  for (const int index : part.operators) {
    figures.flops += graph.op(index).flops;
  }
  for (const PartFlow::In& in : flow.in) {
    figures.bytes_read += in.bytes;
    figures.weight_bytes += graph.tensor(in.tensor).weight ? in.bytes : 0;
    linked += in.from >= 0 ? in.bytes : 0;
  }
  for (const int tensor : flow.out) {
    figures.bytes_written += graph.tensor(tensor).written();
  }
  figures.working_set = working_set(graph, part.operators, flow);
  figures.parallelism = parallelism_of(graph, part.operators);
  // Pieces that differ in results share what they read: the smaller of both operands comes again with each.
  const int64_t activations = figures.bytes_read - figures.weight_bytes;
  figures.bytes_again = (part.tiles - 1) * std::min(figures.weight_bytes, activations);
  if (figures.bytes_again > 0 && part.operators.size() > 1) {
    const int64_t apart = bytes_again_apart(graph, part.operators, flow, profile.memory(unit.memory).bytes);
    figures.bytes_again = std::min(figures.bytes_again, apart);
  }

  const int64_t moved = activations + figures.bytes_again + figures.bytes_written;
  const Memory& near = memory_for(profile, moved);
  const Memory& weights = memory_for(profile, around.weight_bytes);
  const double memory =
      static_cast<double>(moved) / near.bandwidth + static_cast<double>(figures.weight_bytes) / weights.bandwidth;
  figures.seconds = profile.launch + std::max(compute_seconds(graph, part, unit), memory);
  if (around.devices > 1 && linked > 0) {
    figures.seconds += profile.link_latency + static_cast<double>(linked) / profile.link_bandwidth;
  }
  figures.joules = figures.flops * unit.joules_per_flop + static_cast<double>(moved) * joules_per_byte(profile, near) +
                   static_cast<double>(figures.weight_bytes) * joules_per_byte(profile, weights);
  return figures;
}

void estimate(Plan& plan, const SizedGraph& graph, const Profile& profile) {
  const std::vector<PartFlow> flow = flow_of(graph, plan.parts);
  plan.transfers = transfers_of(flow);
  plan.totals = {};
  Totals& totals = plan.totals;
  const Surroundings around{.devices = plan.devices, .weight_bytes = weight_bytes(graph)};
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    Part& part = plan.parts[i];
    part.figures = figures_of(graph, part, flow[i], profile, profile.unit(part.unit), around);
    totals.flops += part.figures.flops;
    totals.bytes_moved += part.figures.bytes_read + part.figures.bytes_written;
    totals.weight_bytes += part.figures.weight_bytes;
    totals.latency += part.figures.seconds;
    totals.joules += part.figures.joules;
    totals.interval = std::max(totals.interval, part.figures.seconds);
  }
  for (const Transfer& transfer : plan.transfers) {
    totals.transfer_bytes += transfer.bytes;
  }
  const std::vector<int64_t> live = live_bytes(graph, flow);
  totals.peak_bytes = live.empty() ? 0 : *std::ranges::max_element(live);
  totals.interval = plan.devices > 1 ? totals.interval : totals.latency;
  totals.latency += static_cast<double>(plan.micro_batches - 1) * totals.interval;
}

void place(Plan& plan, const SizedGraph& graph, const Profile& profile) {
  const std::vector<PartFlow> flow = flow_of(graph, plan.parts);
  const Surroundings around{.devices = plan.devices, .weight_bytes = weight_bytes(graph)};
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    Part& part = plan.parts[i];
    const int64_t bytes = working_set(graph, part.operators, flow[i]);
    double best = 0;
    for (const Unit& unit : profile.units) {
      Part there = part;
      there.tiles = std::max(tiles_for(graph, part.operators, bytes, profile, unit),
                             tiles_of_flops(graph, part.operators, plan.limits.flops));
      const double seconds = figures_of(graph, there, flow[i], profile, unit, around).seconds;
      if (part.unit.empty() || seconds < best) {
        best = seconds;
        part.unit = unit.name;
        part.tiles = there.tiles;
      }
    }
  }
  estimate(plan, graph, profile);
}

}  // namespace tenon::partition
