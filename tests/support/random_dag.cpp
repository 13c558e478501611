#include "support/random_dag.h"

#include <algorithm>
#include <random>

namespace tenon::partition {
namespace {

/// How far back an operator reads: its only operand, or the nearest of several.
int nearest(DagShape shape, int at, std::mt19937_64& generator) {
  const auto random = [&](int below) { return static_cast<int>(generator() % static_cast<uint64_t>(below)); };
  switch (shape) {
    case DagShape::chain: return at - 1;
    case DagShape::diamonds: return std::max(0, at - 1 - random(2));
    case DagShape::wide: return random(std::min(at, 3));
    case DagShape::any: break;
  }
  return random(at);
}

}  // namespace

SizedGraph random_dag(uint64_t seed, int operators, DagShape shape) {
  std::mt19937_64 generator(seed);
  const auto random = [&](int below) { return static_cast<int>(generator() % static_cast<uint64_t>(below)); };
  SizedGraph graph{.model = "random", .operators = {}, .tensors = {}};
  graph.tensors.push_back({.bytes = 64});  // the input
  for (int i = 0; i < operators; ++i) {
    SizedOperator op{.name = "op" + std::to_string(i + 1), .role = static_cast<Role>(random(8))};
    if (i == 0 || random(12) == 0) {
      op.reads.push_back({0, 64});
    } else {
      const int first = nearest(shape, i, generator);
      op.reads.push_back({first + 1, 0});
      const int second = shape == DagShape::diamonds || random(3) == 0 ? nearest(DagShape::any, i, generator) : first;
      if (second != first && (shape != DagShape::chain || i - second < 6)) {
        op.reads.push_back({second + 1, 0});
      }
      std::ranges::sort(op.reads, {}, &SizedRead::tensor);
    }
    op.writes = {i + 1};
    op.flops = 1 + random(1000) + i * 1e-3;
    op.parallelism = 1 + random(64);
    op.structure = static_cast<uint64_t>(op.role);
    const int64_t bytes = random(5) == 0 ? 0 : 4 * (1 + random(1000));
    graph.tensors.push_back({.bytes = bytes, .shape = static_cast<uint64_t>(random(2))});
    graph.operators.push_back(std::move(op));
  }
  link(graph);
  for (SizedOperator& op : graph.operators) {
    for (SizedRead& read : op.reads) {
      read.bytes = graph.tensor(read.tensor).bytes;
    }
  }
  for (SizedTensor& tensor : graph.tensors) {
    tensor.output = tensor.producer >= 0 && (tensor.readers.empty() || random(40) == 0);
  }
  return graph;
}

Profile roomy_profile() {
  Profile profile;
  profile.name = "roomy";
  profile.memories = {{.name = "memory", .bytes = int64_t{1} << 50, .bandwidth = 1e9}};
  profile.units.resize(1);
  profile.units[0].name = "unit";
  profile.units[0].flops = {{"any", 1e9}};
  profile.units[0].memory = "memory";
  profile.link_bandwidth = 1e9;
  return profile;
}

}  // namespace tenon::partition
