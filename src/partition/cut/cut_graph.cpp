#include "partition/cut/cut_graph.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <random>

namespace tenon::partition {
namespace {

/// Takes nodes that wait for nothing, one at a time, as `next` picks them.
std::vector<int> order_by(const CutGraph& graph, const std::function<int(std::vector<int>& ready)>& next) {
  std::vector<int> waits(graph.weight.size(), 0);
  for (const CutGraph::Net& net : graph.nets) {
    for (const int to : net.to) {
      ++waits[static_cast<size_t>(to)];
    }
  }
  std::vector<int> ready;
  for (int i = graph.size(); i-- > 0;) {
    if (waits[static_cast<size_t>(i)] == 0) {
      ready.push_back(i);
    }
  }
  std::vector<int> order;
  order.reserve(graph.weight.size());
  while (!ready.empty()) {
    const int node = next(ready);
    order.push_back(node);
    const std::vector<int>& out = graph.out[static_cast<size_t>(node)];
    for (auto net = out.rbegin(); net != out.rend(); ++net) {
      const std::vector<int>& to = graph.nets[static_cast<size_t>(*net)].to;
      for (auto user = to.rbegin(); user != to.rend(); ++user) {
        if (--waits[static_cast<size_t>(*user)] == 0) {
          ready.push_back(*user);
        }
      }
    }
  }
  return order;
}

int take_at(std::vector<int>& ready, size_t at) {
  const int node = ready[at];
  ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
  return node;
}

/// The node that leaves the fewest bytes alive behind it.
std::vector<int> order_by_bytes(const CutGraph& graph) {
  std::vector<size_t> left(graph.nets.size());
  std::ranges::transform(graph.nets, left.begin(), [](const CutGraph::Net& net) { return net.to.size(); });
  return order_by(graph, [&](std::vector<int>& ready) {
    size_t best = 0;
    int64_t least = 0;
    const size_t first = ready.size() > 64 ? ready.size() - 64 : 0;
    for (size_t i = first; i < ready.size(); ++i) {
      int64_t grows = 0;
      for (const int net : graph.out[static_cast<size_t>(ready[i])]) {
        grows += graph.nets[static_cast<size_t>(net)].bytes;
      }
      for (const int net : graph.in[static_cast<size_t>(ready[i])]) {
        grows -= left[static_cast<size_t>(net)] == 1 ? graph.nets[static_cast<size_t>(net)].bytes : 0;
      }
      if (i == first || grows < least) {
        least = grows;
        best = i;
      }
    }
    for (const int net : graph.in[static_cast<size_t>(ready[best])]) {
      --left[static_cast<size_t>(net)];
    }
    return take_at(ready, best);
  });
}

std::vector<int> breadth_first(const CutGraph& graph) {
  std::vector<int> level(graph.weight.size(), 0);
  for (int node = 0; node < graph.size(); ++node) {  // nodes stand in order
    for (const int net : graph.out[static_cast<size_t>(node)]) {
      for (const int to : graph.nets[static_cast<size_t>(net)].to) {
        level[static_cast<size_t>(to)] = std::max(level[static_cast<size_t>(to)], level[static_cast<size_t>(node)] + 1);
      }
    }
  }
  std::vector<int> order(graph.weight.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int node) { return level[static_cast<size_t>(node)]; });
  return order;
}

int64_t bytes_read(const SizedGraph& graph, int op, int tensor) {
  const std::vector<SizedRead>& reads = graph.op(op).reads;
  return std::ranges::find(reads, tensor, &SizedRead::tensor)->bytes;
}

}  // namespace

CutGraph cut_graph(const SizedGraph& graph, const std::vector<std::vector<int>>& groups) {
  CutGraph result;
  std::vector<int> group_of(graph.operators.size(), -1);
  for (int g = 0; g < static_cast<int>(groups.size()); ++g) {
    double flops = 0;
    for (const int op : groups[static_cast<size_t>(g)]) {
      group_of[static_cast<size_t>(op)] = g;
      flops += graph.op(op).flops;
    }
    result.weight.push_back(std::max(flops, 1.0));
  }
  result.in.resize(groups.size());
  result.out.resize(groups.size());
  for (const SizedTensor& tensor : graph.tensors) {
    if (tensor.producer < 0) {
      continue;
    }
    // Readers of a slice get no more than that: one net for each size.
    std::map<int64_t, std::vector<int>> readers;
    const int from = group_of[static_cast<size_t>(tensor.producer)];
    for (const int reader : tensor.readers) {
      if (const int to = group_of[static_cast<size_t>(reader)]; to != from) {
        readers[bytes_read(graph, reader, static_cast<int>(&tensor - graph.tensors.data()))].push_back(to);
      }
    }
    for (auto& [bytes, to] : readers) {
      std::ranges::sort(to);
      const auto rest = std::ranges::unique(to);
      to.erase(rest.begin(), rest.end());
      const auto index = static_cast<int>(result.nets.size());
      result.out[static_cast<size_t>(from)].push_back(index);
      for (const int each : to) {
        result.in[static_cast<size_t>(each)].push_back(index);
      }
      result.nets.push_back({.bytes = bytes, .from = from, .to = std::move(to)});
    }
  }
  return result;
}

int64_t cut_bytes(const CutGraph& graph, const std::vector<int>& part_of) {
  int64_t sum = 0;
  std::vector<int> parts;
  for (const CutGraph::Net& net : graph.nets) {
    parts.clear();
    for (const int to : net.to) {
      const int part = part_of[static_cast<size_t>(to)];
      if (part != part_of[static_cast<size_t>(net.from)] && std::ranges::find(parts, part) == parts.end()) {
        parts.push_back(part);
      }
    }
    sum += net.bytes * static_cast<int64_t>(parts.size());
  }
  return sum;
}

std::vector<std::vector<int>> topological_orders(const CutGraph& graph, int random) {
  std::vector<int> given(graph.weight.size());
  std::iota(given.begin(), given.end(), 0);
  std::vector<std::vector<int>> orders{
      given, breadth_first(graph), order_by_bytes(graph),
      order_by(graph, [](std::vector<int>& ready) { return take_at(ready, ready.size() - 1); })};
  std::mt19937_64 generator(1);
  for (int i = 0; i < random; ++i) {
    // Mostly depth first, at random now and then.
    orders.push_back(order_by(graph, [&](std::vector<int>& ready) {
      const bool jump = generator() % 4 == 0;
      return take_at(ready, jump ? static_cast<size_t>(generator() % ready.size()) : ready.size() - 1);
    }));
  }
  return orders;
}

}  // namespace tenon::partition
