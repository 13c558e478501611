#include "partition/plan/flow.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/fail.h"

namespace tenon::partition {

std::vector<PartFlow> flow_of(const SizedGraph& graph, std::span<const Part> parts) {
  std::vector<PartFlow> flow(parts.size());
  std::vector<int> latest(graph.tensors.size(), -1);    // the part that computed a tensor last
  std::vector<int> first(graph.tensors.size(), -1);     // ... and first
  std::vector<int> read_by(graph.tensors.size(), -1);   // the part that has the tensor among its inputs
  std::vector<size_t> place(graph.tensors.size(), 0);   // ... and where
  std::vector<int> given_by(graph.tensors.size(), -1);  // the part that has the tensor among its outputs
  const auto give = [&](int tensor, int part) {
    if (given_by[static_cast<size_t>(tensor)] != part) {
      given_by[static_cast<size_t>(tensor)] = part;
      flow[static_cast<size_t>(part)].out.push_back(tensor);
    }
  };
  for (int p = 0; p < static_cast<int>(parts.size()); ++p) {
    PartFlow& own = flow[static_cast<size_t>(p)];
    for (const int index : parts[static_cast<size_t>(p)].operators) {
      for (const SizedRead& read : graph.op(index).reads) {
        const auto t = static_cast<size_t>(read.tensor);
        const SizedTensor& tensor = graph.tensors[t];
        if (latest[t] == p && (tensor.kept == 0 || read.bytes == 0)) {
          continue;
        }
        if (tensor.producer >= 0 && latest[t] < 0) {
          fail("operator `{}` of part {} reads `{}`, which no part before it computes", graph.op(index).name, p + 1,
               graph.op(tensor.producer).name);
        }
        if (read_by[t] == p) {
          int64_t& bytes = own.in[place[t]].bytes;
          bytes = std::min(tensor.bytes, std::max(bytes, read.bytes));
          continue;
        }
        read_by[t] = p;
        place[t] = own.in.size();
        const int from = latest[t] == p ? -1 : latest[t];  // of state, what was there before comes from memory
        own.in.push_back({read.tensor, from, read.bytes});
        if (from >= 0) {
          give(read.tensor, latest[t]);
        }
      }
      for (const int tensor : graph.op(index).writes) {
        latest[static_cast<size_t>(tensor)] = p;
        int& begin = first[static_cast<size_t>(tensor)];
        begin = begin < 0 ? p : begin;
      }
    }
  }
  for (int t = 0; t < static_cast<int>(graph.tensors.size()); ++t) {
    if (graph.tensor(t).output && latest[static_cast<size_t>(t)] >= 0) {
      const int part = latest[static_cast<size_t>(t)];
      std::vector<int>& out = flow[static_cast<size_t>(part)].out;
      if (std::ranges::find(out, t) == out.end()) {
        out.push_back(t);
      }
    }
  }
  for (PartFlow& each : flow) {
    std::ranges::sort(each.out);
    std::ranges::sort(each.in, {}, &PartFlow::In::tensor);
  }
  return flow;
}

PartFlow flow_alone(const SizedGraph& graph, std::span<const int> operators) {
  PartFlow flow;
  std::vector<int> sorted(operators.begin(), operators.end());
  std::ranges::sort(sorted);
  const auto inside = [&](int op) { return std::ranges::binary_search(sorted, op); };
  for (const int op : operators) {
    for (const SizedRead& read : graph.op(op).reads) {
      const SizedTensor& tensor = graph.tensor(read.tensor);
      if (!inside(tensor.producer) || (tensor.kept > 0 && read.bytes > 0)) {
        flow.in.push_back({read.tensor, -1, read.bytes});
      }
    }
    for (const int tensor : graph.op(op).writes) {
      const SizedTensor& written = graph.tensor(tensor);
      if (written.output || !std::ranges::all_of(written.readers, inside)) {
        flow.out.push_back(tensor);
      }
    }
  }
  std::ranges::sort(flow.in, [](const PartFlow::In& a, const PartFlow::In& b) {
    return a.tensor != b.tensor ? a.tensor < b.tensor : a.bytes > b.bytes;
  });
  const auto rest = std::ranges::unique(flow.in, {}, &PartFlow::In::tensor);
  flow.in.erase(rest.begin(), rest.end());
  std::ranges::sort(flow.out);
  return flow;
}

std::vector<Transfer> transfers_of(std::span<const PartFlow> flow) {
  std::vector<Transfer> result;
  for (int p = 0; p < static_cast<int>(flow.size()); ++p) {
    for (const PartFlow::In& in : flow[static_cast<size_t>(p)].in) {
      if (in.from >= 0) {
        result.push_back({.tensor = in.tensor, .from = in.from, .to = p, .bytes = in.bytes});
      }
    }
  }
  std::ranges::sort(result, {}, [](const Transfer& each) { return std::tuple(each.from, each.tensor, each.to); });
  return result;
}

std::vector<std::vector<int>> unread(const SizedGraph& graph, std::span<const Part> parts) {
  std::vector<int> times(graph.operators.size(), 0);
  for (const Part& part : parts) {
    for (const int op : part.operators) {
      ++times[static_cast<size_t>(op)];
    }
  }
  std::vector<bool> wanted;  // of each tensor: somebody behind here reads it and has not found who computes it
  for (const SizedTensor& tensor : graph.tensors) {
    wanted.push_back(tensor.output);
  }
  std::vector<std::vector<int>> result(parts.size());
  for (size_t p = parts.size(); p-- > 0;) {
    for (auto op = parts[p].operators.rbegin(); op != parts[p].operators.rend(); ++op) {
      const std::vector<int>& writes = graph.op(*op).writes;
      if (times[static_cast<size_t>(*op)] > 1 &&
          std::ranges::none_of(writes, [&](int tensor) { return wanted[static_cast<size_t>(tensor)]; })) {
        result[p].push_back(*op);
        continue;
      }
      for (const int tensor : writes) {
        wanted[static_cast<size_t>(tensor)] = false;
      }
      for (const SizedRead& read : graph.op(*op).reads) {
        wanted[static_cast<size_t>(read.tensor)] = true;
      }
    }
    std::ranges::reverse(result[p]);
  }
  return result;
}

std::vector<int64_t> live_bytes(const SizedGraph& graph, std::span<const PartFlow> flow) {
  const auto count = static_cast<int>(flow.size());
  std::vector<int64_t> change(flow.size() + 1, 0);
  std::map<std::pair<int, int>, int> last;  // by part and tensor: the last part that reads it
  for (int p = 0; p < count; ++p) {
    for (const PartFlow::In& in : flow[static_cast<size_t>(p)].in) {
      if (!graph.tensor(in.tensor).weight && !graph.tensor(in.tensor).in_place) {
        last[{in.from, in.tensor}] = p;
      }
    }
    for (const int tensor : flow[static_cast<size_t>(p)].out) {
      if (!graph.tensor(tensor).in_place) {
        last.try_emplace({p, tensor}, p);
      }
    }
  }
  for (const auto& [key, end] : last) {
    const auto [from, tensor] = key;
    const bool kept = from >= 0 && graph.tensor(tensor).output;
    change[static_cast<size_t>(std::max(from, 0))] += graph.tensor(tensor).bytes;
    change[static_cast<size_t>(kept ? count : end + 1)] -= graph.tensor(tensor).bytes;
  }
  std::vector<int64_t> live(flow.size(), 0);
  int64_t now = 0;
  for (size_t p = 0; p < flow.size(); ++p) {
    now += change[p];
    live[p] = now;
  }
  return live;
}

}  // namespace tenon::partition
