#include "partition/fuse/groups.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace tenon::partition {

Groups::Groups(const SizedGraph& graph)
    : graph_(graph),
      parent_(graph.operators.size()),
      members_(graph.operators.size()),
      exits_(graph.operators.size()),
      joints_(graph.operators.size()) {
  std::iota(parent_.begin(), parent_.end(), 0);
  for (int i = 0; i < graph.size(); ++i) {
    members_[static_cast<size_t>(i)] = {i};
    exits_[static_cast<size_t>(i)] = {i};
  }
}

int Groups::find(int op) const {
  while (parent_[static_cast<size_t>(op)] != op) {
    int& parent = parent_[static_cast<size_t>(op)];
    parent = parent_[static_cast<size_t>(parent)];
    op = parent;
  }
  return op;
}

/// Whether a path that leaves group `from` comes to group `to` through another one. Operators stand in an order that
/// edges follow, and groups do not: one that begins late may lead to one that begins early.
bool Groups::path_around(int from, int to) const {
  std::unordered_set<int> seen{from};
  std::vector<int> open;
  const auto add = [&](int group) {
    for (const int op : exits_[static_cast<size_t>(group)]) {
      for (const int tensor : graph_.op(op).writes) {
        for (const int reader : graph_.tensor(tensor).readers) {
          const int next = find(reader);
          if (next != group && !(group == from && next == to) && seen.insert(next).second) {
            open.push_back(next);
          }
        }
      }
    }
  };
  add(from);
  while (!open.empty()) {
    const int group = open.back();
    open.pop_back();
    if (group == to) {
      return true;
    }
    add(group);
  }
  return false;
}

bool Groups::would_circle(int a, int b) const {
  const int x = find(a);
  const int y = find(b);
  return x != y && (path_around(x, y) || path_around(y, x));
}

bool Groups::join(int a, int b, std::string_view rule) {
  int into = find(a);
  int from = find(b);
  if (into == from) {
    return true;
  }
  // Where all that one group gives goes to the other, no path leads around it.
  const auto leads_to_alone = [&](int producer, int reader) {
    return std::ranges::all_of(exits_[static_cast<size_t>(producer)], [&](int op) {
      return std::ranges::all_of(graph_.op(op).writes, [&](int tensor) {
        return std::ranges::all_of(graph_.tensor(tensor).readers,
                                   [&](int each) { return find(each) == producer || find(each) == reader; });
      });
    });
  };
  if (!leads_to_alone(into, from) && !leads_to_alone(from, into) && would_circle(into, from)) {
    return false;
  }
  if (members_[static_cast<size_t>(into)].size() < members_[static_cast<size_t>(from)].size()) {
    std::swap(into, from);
  }
  std::vector<int>& to = members_[static_cast<size_t>(into)];
  std::vector<int>& moved = members_[static_cast<size_t>(from)];
  joints_[static_cast<size_t>(a)].push_back({a, b, rule});
  joints_[static_cast<size_t>(b)].push_back({b, a, rule});
  const auto middle = static_cast<std::ptrdiff_t>(to.size());
  to.insert(to.end(), moved.begin(), moved.end());
  std::inplace_merge(to.begin(), to.begin() + middle, to.end());
  moved.clear();
  parent_[static_cast<size_t>(from)] = into;
  std::vector<int>& exits = exits_[static_cast<size_t>(into)];
  exits.insert(exits.end(), exits_[static_cast<size_t>(from)].begin(), exits_[static_cast<size_t>(from)].end());
  exits_[static_cast<size_t>(from)].clear();
  std::erase_if(exits, [&](int op) {
    return std::ranges::all_of(graph_.op(op).writes, [&](int tensor) {
      return std::ranges::all_of(graph_.tensor(tensor).readers, [&](int reader) { return find(reader) == into; });
    });
  });
  return true;
}

std::vector<Groups::Joint> Groups::joints(int from, int to) const {
  std::unordered_map<int, Joint> reached{{from, {}}};
  std::vector<int> open{from};
  for (size_t next = 0; next < open.size() && !reached.contains(to); ++next) {
    for (const Joint& joint : joints_[static_cast<size_t>(open[next])]) {
      if (reached.emplace(joint.b, joint).second) {
        open.push_back(joint.b);
      }
    }
  }
  std::vector<Joint> path;
  for (int at = to; at != from; at = path.back().a) {
    path.push_back(reached.at(at));
  }
  std::ranges::reverse(path);
  return path;
}

std::vector<std::vector<int>> Groups::all() const {
  std::vector<std::vector<int>> result;
  for (int i = 0; i < graph_.size(); ++i) {
    if (members(i).front() == i) {
      result.push_back(members(i));
    }
  }
  return result;
}

std::vector<int> activations(const SizedGraph& graph, int op) {
  std::vector<int> result;
  for (const SizedRead& read : graph.op(op).reads) {
    if (!graph.tensor(read.tensor).weight) {
      result.push_back(read.tensor);
    }
  }
  return result;
}

int tensor_between(const SizedGraph& graph, int producer, int reader) {
  for (const SizedRead& read : graph.op(reader).reads) {
    if (graph.tensor(read.tensor).producer == producer) {
      return read.tensor;
    }
  }
  return -1;
}

int sole_reader(const SizedGraph& graph, int op) {
  int reader = -1;
  for (const int tensor : graph.op(op).writes) {
    if (graph.tensor(tensor).output) {
      return -1;
    }
    for (const int each : graph.tensor(tensor).readers) {
      if (reader >= 0 && each != reader) {
        return -1;
      }
      reader = each;
    }
  }
  return reader;
}

}  // namespace tenon::partition
