#include "cli/explain/match_steps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace tenon::cli {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;

/// A longest common subsequence of what is at `begin_a` to `end_a` and `begin_b` to `end_b`. Where the table of it
/// would have more cells than kMostCells: what is equal from the beginning and from the end.
template <class Equal>
Pairs common_subsequence(size_t begin_a, size_t end_a, size_t begin_b, size_t end_b, const Equal& equal) {
  constexpr size_t kMostCells = size_t{16} << 20;
  Pairs pairs;
  while (begin_a < end_a && begin_b < end_b && equal(begin_a, begin_b)) {
    pairs.emplace_back(begin_a++, begin_b++);
  }
  Pairs tail;
  while (begin_a < end_a && begin_b < end_b && equal(end_a - 1, end_b - 1)) {
    tail.emplace_back(--end_a, --end_b);
  }
  const size_t rows = end_a - begin_a;
  const size_t columns = end_b - begin_b;
  if (rows > 0 && columns > 0 && rows <= kMostCells / columns) {
    const size_t width = columns + 1;
    std::vector<uint32_t> longest((rows + 1) * width, 0);  // of what is from here to the end
    for (size_t i = rows; i-- > 0;) {
      for (size_t j = columns; j-- > 0;) {
        longest[i * width + j] = equal(begin_a + i, begin_b + j)
                                     ? longest[(i + 1) * width + j + 1] + 1
                                     : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
    }
    for (size_t i = 0, j = 0; i < rows && j < columns;) {
      if (equal(begin_a + i, begin_b + j)) {
        pairs.emplace_back(begin_a + i++, begin_b + j++);
      } else {
        ++(longest[(i + 1) * width + j] >= longest[i * width + j + 1] ? i : j);
      }
    }
  }
  pairs.insert(pairs.end(), tail.rbegin(), tail.rend());
  return pairs;
}

/// Words and nodes as numbers, the same of both programs.
class Numbers {
 public:
  int of(const std::string& text) {
    return numbers_.try_emplace(text, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, int> numbers_;
};

struct Operator {
  size_t step = 0;
  int word = 0;
};

/// The steps of one program, as what is compared.
struct Side {
  std::vector<int> whole = {};               // of each step: all that it is
  std::vector<std::vector<int>> nodes = {};  // of each step, sorted
  std::vector<Operator> operators = {};      // of all steps, in order
  std::vector<size_t> first_operator = {0};  // of each step, and their number
};

Side side_of(const std::vector<ReadStep>& steps, Numbers& numbers) {
  Side side;
  for (size_t i = 0; i < steps.size(); ++i) {
    std::string all = steps[i].operators;
    std::vector<int>& nodes = side.nodes.emplace_back();
    for (const std::string& node : steps[i].nodes) {
      all += '\n' + node;
      nodes.push_back(numbers.of('\n' + node));
    }
    std::ranges::sort(nodes);
    side.whole.push_back(numbers.of('\n' + all));
    for (size_t begin = 0; begin < steps[i].operators.size();) {
      const size_t end = std::min(steps[i].operators.find(' ', begin), steps[i].operators.size());
      const std::string word = steps[i].operators.substr(begin, end - begin);
      if (word != "|" && !word.empty()) {
        side.operators.push_back({.step = i, .word = numbers.of(word)});
      }
      begin = end + 1;
    }
    side.first_operator.push_back(side.operators.size());
  }
  return side;
}

/// Whether a step of one and a step of the other may be of the same part of the model.
bool may_meet(const std::vector<int>& a, const std::vector<int>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      return true;
    }
    ++(a[i] < b[j] ? i : j);
  }
  return a.empty() || b.empty();
}

/// How many operators a step of A and a step of B have in common.
class Links {
 public:
  Links(const Side& a, const Side& b) : a_(a), b_(b), linked_a_(a.operators.size()), linked_b_(b.operators.size()) {}

  /// Steps that are alike, in order, and between them operators.
  void match_in_order() {
    size_t next_a = 0;
    size_t next_b = 0;
    Pairs anchors = common_subsequence(0, a_.whole.size(), 0, b_.whole.size(),
                                       [&](size_t i, size_t j) { return a_.whole[i] == b_.whole[j]; });
    anchors.emplace_back(a_.whole.size(), b_.whole.size());
    for (const auto& [i, j] : anchors) {
      match_operators(next_a, i, next_b, j);
      if (i < a_.whole.size()) {
        ++counts_[{i, j}];  // also where it has no operators
        match_operators(i, i + 1, j, j + 1);
      }
      next_a = i + 1;
      next_b = j + 1;
    }
  }

  /// What is left, where nodes say what belongs together whatever its place.
  void match_by_nodes() {
    std::map<int, std::vector<size_t>> left;  // of B, by word
    for (size_t j = 0; j < b_.operators.size(); ++j) {
      if (!linked_b_[j] && !nodes_b(j).empty()) {
        left[b_.operators[j].word].push_back(j);
      }
    }
    for (size_t i = 0; i < a_.operators.size(); ++i) {
      const auto found = left.find(a_.operators[i].word);
      if (linked_a_[i] || nodes_a(i).empty() || found == left.end()) {
        continue;
      }
      const auto other =
          std::ranges::find_if(found->second, [&](size_t j) { return may_meet(nodes_a(i), nodes_b(j)); });
      if (other != found->second.end()) {
        link(i, *other);
        found->second.erase(other);
      }
    }
  }

  /// Those that are the strongest of either step.
  Pairs strongest() const {
    std::map<size_t, int> most_a;
    std::map<size_t, int> most_b;
    for (const auto& [pair, count] : counts_) {
      most_a[pair.first] = std::max(most_a[pair.first], count);
      most_b[pair.second] = std::max(most_b[pair.second], count);
    }
    Pairs pairs;
    for (const auto& [pair, count] : counts_) {
      if (count == most_a[pair.first] || count == most_b[pair.second]) {
        pairs.push_back(pair);
      }
    }
    return pairs;
  }

 private:
  const std::vector<int>& nodes_a(size_t i) const { return a_.nodes[a_.operators[i].step]; }
  const std::vector<int>& nodes_b(size_t j) const { return b_.nodes[b_.operators[j].step]; }

  void link(size_t i, size_t j) {
    linked_a_[i] = true;
    linked_b_[j] = true;
    ++counts_[{a_.operators[i].step, b_.operators[j].step}];
  }

  void match_operators(size_t begin_a, size_t end_a, size_t begin_b, size_t end_b) {
    if (begin_a >= end_a || begin_b >= end_b) {
      return;
    }
    for (const auto& [i, j] :
         common_subsequence(a_.first_operator[begin_a], a_.first_operator[end_a], b_.first_operator[begin_b],
                            b_.first_operator[end_b], [&](size_t x, size_t y) {
                              return a_.operators[x].word == b_.operators[y].word && may_meet(nodes_a(x), nodes_b(y));
                            })) {
      link(i, j);
    }
  }

  const Side& a_;
  const Side& b_;
  std::vector<bool> linked_a_, linked_b_;
  std::map<std::pair<size_t, size_t>, int> counts_;
};

size_t root_of(std::vector<size_t>& parents, size_t i) {
  while (parents[i] != i) {
    i = parents[i] = parents[parents[i]];
  }
  return i;
}

bool is_same(const ReadStep& a, const ReadStep& b) {
  return a.kind == b.kind && a.operators == b.operators && a.bytes_read == b.bytes_read &&
         a.bytes_written == b.bytes_written && a.flops == b.flops;
}

StepChange change_of(const StepGroup& group, const std::vector<ReadStep>& a, const std::vector<ReadStep>& b) {
  if (group.b.empty()) {
    return StepChange::only_a;
  }
  if (group.a.empty()) {
    return StepChange::only_b;
  }
  if (group.a.size() == 1 && group.b.size() == 1) {
    return is_same(a[group.a[0]], b[group.b[0]]) ? StepChange::same : StepChange::changed;
  }
  return group.b.size() == 1 ? StepChange::joined : group.a.size() == 1 ? StepChange::split : StepChange::regrouped;
}

}  // namespace

std::string_view name(StepChange change) {
  constexpr std::string_view kNames[] = {"same", "changed", "joined", "split", "regrouped", "only in A", "only in B"};
  return kNames[static_cast<size_t>(change)];
}

std::vector<StepGroup> match_steps(const std::vector<ReadStep>& a, const std::vector<ReadStep>& b) {
  Numbers numbers;
  const Side side_a = side_of(a, numbers);
  const Side side_b = side_of(b, numbers);
  Links links(side_a, side_b);
  links.match_in_order();
  links.match_by_nodes();
  std::vector<size_t> parents(a.size() + b.size());
  std::iota(parents.begin(), parents.end(), size_t{0});
  for (const auto& [i, j] : links.strongest()) {
    parents[root_of(parents, a.size() + j)] = root_of(parents, i);
  }
  std::map<size_t, StepGroup> by_root;
  for (size_t i = 0; i < parents.size(); ++i) {
    StepGroup& group = by_root[root_of(parents, i)];
    (i < a.size() ? group.a : group.b).push_back(i < a.size() ? i : i - a.size());
  }
  // A step of B alone stands behind what has the step of B before it.
  std::vector<std::pair<std::pair<size_t, size_t>, StepGroup>> ordered;
  std::vector<size_t> place(b.size() + 1, 0);  // of B's steps, in A; 1 behind the last step that is known
  for (const auto& [root, group] : by_root) {
    for (const size_t j : group.b) {
      place[j + 1] = group.a.empty() ? 0 : group.a.front() + 1;
    }
  }
  for (size_t j = 0; j < b.size(); ++j) {
    place[j + 1] = place[j + 1] == 0 ? place[j] : place[j + 1];
  }
  for (auto& [root, group] : by_root) {
    group.change = change_of(group, a, b);
    const std::pair<size_t, size_t> at = group.a.empty() ? std::pair(place[group.b.front()], group.b.front() + 1)
                                                         : std::pair(group.a.front() + 1, size_t{0});
    ordered.emplace_back(at, std::move(group));
  }
  std::ranges::stable_sort(ordered, {}, [](const auto& each) { return each.first; });
  std::vector<StepGroup> groups;
  for (auto& [at, group] : ordered) {
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace tenon::cli
