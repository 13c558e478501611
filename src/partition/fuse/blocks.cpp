#include "partition/fuse/blocks.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/hash.h"

namespace tenon::partition {
namespace {

struct Stretch {
  int begin = 0, end = 0;  // operators
  int kind = -1;           // class of blocks; -1: between them

  int size() const { return end - begin; }
};

using Labels = std::vector<uint64_t>;

/// Cuts in the order of operators where at most `most` activations pass, 0 and the end included. What all of the model
/// reads, such as a mask, passes everywhere and does not count.
std::vector<int> separators(const SizedGraph& graph, int most) {
  std::vector<int> change(graph.operators.size() + 2, 0);
  for (const SizedTensor& tensor : graph.tensors) {
    if (tensor.readers.empty() || tensor.weight) {
      continue;
    }
    const int begin = tensor.producer >= 0 ? tensor.producer : tensor.readers.front();
    const int end = tensor.readers.back();
    if (end > begin && (tensor.producer >= 0 || 2 * (end - begin) < graph.size())) {
      ++change[static_cast<size_t>(begin) + 1];
      --change[static_cast<size_t>(end) + 1];
    }
  }
  std::vector<int> cuts{0};
  int passing = 0;
  for (int at = 1; at < graph.size(); ++at) {
    passing += change[static_cast<size_t>(at)];
    if (passing <= most) {
      cuts.push_back(at);
    }
  }
  cuts.push_back(graph.size());
  return cuts;
}

/// Operators by structure, without how many readers they have.
Labels labels_of(const SizedGraph& graph) {
  Labels labels;
  for (const SizedOperator& op : graph.operators) {
    labels.push_back(op.structure);
  }
  return labels;
}

double overlap(Labels a, Labels b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  Labels both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(std::max(a.size(), b.size()));
}

/// Blocks of a class share this much of their operators: a shortcut with a convolution of its own is a variant.
constexpr double kAlike = 0.7;
constexpr int kLeastBlock = 3;
constexpr int kMostPassing = 4;

class BlockFinder {
 public:
  explicit BlockFinder(const SizedGraph& graph)
      : graph_(graph), labels_(labels_of(graph)), taken_(graph.operators.size(), -1) {}

  std::vector<std::vector<int>> find() {
    // Caches of keys and values are handed from block to block beside the activation.
    for (int passing = 1; passing <= kMostPassing && count_ == 0; ++passing) {
      classify(passing);
    }
    std::vector<Stretch> stretches = in_sequence();
    attach_norms(stretches);
    merge_turns(stretches);
    std::vector<std::vector<int>> parts;
    for (const Stretch& each : stretches) {
      std::vector<int> part(static_cast<size_t>(each.size()));
      std::iota(part.begin(), part.end(), each.begin);
      parts.push_back(std::move(part));
    }
    return parts;
  }

 private:
  Labels labels(int begin, int end) const { return {labels_.begin() + begin, labels_.begin() + end}; }

  void take(int begin, int end, int kind) {
    blocks_.push_back({begin, end, kind});
    std::fill(taken_.begin() + begin, taken_.begin() + end, kind);
  }

  /// Steps 1 and 2. A class needs two members.
  void classify(int passing) {
    cuts_ = separators(graph_, passing);
    std::vector<std::vector<Stretch>> classes;
    for (size_t i = 0; i + 1 < cuts_.size(); ++i) {
      const Stretch stretch{cuts_[i], cuts_[i + 1], -1};
      if (stretch.size() < kLeastBlock) {
        continue;
      }
      const auto alike = [&](const std::vector<Stretch>& members) {
        return overlap(labels(stretch.begin, stretch.end), labels(members[0].begin, members[0].end)) >= kAlike;
      };
      const auto at = std::ranges::find_if(classes, alike);
      if (at == classes.end()) {
        classes.push_back({stretch});
      } else {
        at->push_back(stretch);
      }
    }
    std::erase_if(classes, [](const std::vector<Stretch>& members) { return members.size() < 2; });
    std::ranges::sort(classes, std::greater(), [](const std::vector<Stretch>& members) { return members[0].size(); });
    for (const std::vector<Stretch>& members : classes) {
      for (const Stretch& each : members) {
        if (taken_[static_cast<size_t>(each.begin)] < 0) {
          take(each.begin, each.end, count_);
        }
      }
      match_template(count_++);  // before smaller classes, whose members may lie inside of what it finds
    }
  }

  bool is_cut(int at) const { return std::ranges::binary_search(cuts_, at); }

  bool matches(int begin, const Labels& pattern, size_t from) const {
    const size_t length = pattern.size() - from;
    const size_t end = static_cast<size_t>(begin) + length;
    if (end > labels_.size() || !is_cut(begin) || !is_cut(static_cast<int>(end))) {
      return false;
    }
    for (size_t i = 0; i < length; ++i) {
      if (taken_[static_cast<size_t>(begin) + i] >= 0 || labels_[static_cast<size_t>(begin) + i] != pattern[from + i]) {
        return false;
      }
    }
    return true;
  }

  /// Step 3: the shortest member of a class without what joins its paths, in whole or from the middle on.
  void match_template(int kind) {
    Stretch shortest;
    for (const Stretch& block : blocks_) {
      if (block.kind == kind && (shortest.end == 0 || block.size() < shortest.size())) {
        shortest = block;
      }
    }
    Labels pattern;
    std::vector<int> starts;  // places of the pattern at which a block without its beginning may begin
    for (int i = shortest.begin; i < shortest.end; ++i) {
      const bool joins = i + 1 == shortest.end && graph_.op(i).role == Role::map && graph_.producers(i).size() > 1;
      if (!joins) {
        if (graph_.op(i).role == Role::product || graph_.op(i).role == Role::depthwise) {
          starts.push_back(static_cast<int>(pattern.size()));
        }
        pattern.push_back(labels_[static_cast<size_t>(i)]);
      }
    }
    for (size_t from = 0; from * 2 < pattern.size(); ++from) {
      if (from > 0 && std::ranges::find(starts, static_cast<int>(from)) == starts.end()) {
        continue;
      }
      const auto length = static_cast<int>(pattern.size() - from);
      for (int at = 0; at + length <= graph_.size(); ++at) {
        if (length >= kLeastBlock && matches(at, pattern, from)) {
          take(at, at + length, kind);
        }
      }
    }
  }

  /// Blocks in order, and what is between them.
  std::vector<Stretch> in_sequence() {
    std::ranges::sort(blocks_, {}, &Stretch::begin);
    std::vector<Stretch> result;
    int at = 0;
    for (const Stretch& block : blocks_) {
      if (block.begin > at) {
        result.push_back({at, block.begin, -1});
      }
      result.push_back(block);
      at = block.end;
    }
    if (at < graph_.size()) {
      result.push_back({at, graph_.size(), -1});
    }
    return result;
  }

  /// What stands between two blocks belongs to the first; behind the last one, as much as blocks of its class have.
  void attach_norms(std::vector<Stretch>& stretches) const {
    std::map<int, Labels> behind;
    std::vector<Stretch> result;
    for (size_t i = 0; i < stretches.size(); ++i) {
      const Stretch& each = stretches[i];
      const bool between = each.kind < 0 && !result.empty() && result.back().kind >= 0;
      if (between && i + 1 < stretches.size()) {
        behind.emplace(result.back().kind, labels(each.begin, each.end));
        result.back().end = each.end;
        continue;
      }
      if (between && behind.contains(result.back().kind)) {
        const Labels& usual = behind.at(result.back().kind);
        const auto length = static_cast<int>(usual.size());
        if (length <= each.size() && labels(each.begin, each.begin + length) == usual) {
          result.back().end += length;
          if (length < each.size()) {
            result.push_back({each.begin + length, each.end, -1});
          }
          continue;
        }
      }
      result.push_back(each);
    }
    stretches = std::move(result);
  }

  /// Step 4: the shortest sequence of different classes that all blocks repeat.
  static void merge_turns(std::vector<Stretch>& stretches) {
    std::vector<size_t> at;
    for (size_t i = 0; i < stretches.size(); ++i) {
      if (stretches[i].kind >= 0) {
        at.push_back(i);
      }
    }
    if (at.size() < 4 || at.back() - at.front() + 1 != at.size()) {
      return;
    }
    const size_t period = [&] {
      size_t length = 1;
      while (length < at.size() && stretches[at[length]].kind != stretches[at[0]].kind) {
        ++length;
      }
      return length;
    }();
    if (period == 1 || at.size() % period != 0 || at.size() / period < 2) {
      return;
    }
    for (size_t i = period; i < at.size(); ++i) {
      if (stretches[at[i]].kind != stretches[at[i % period]].kind) {
        return;
      }
    }
    std::vector<Stretch> result(stretches.begin(), stretches.begin() + static_cast<std::ptrdiff_t>(at[0]));
    for (size_t i = 0; i < at.size(); i += period) {
      result.push_back({stretches[at[i]].begin, stretches[at[i + period - 1]].end, 0});
    }
    result.insert(result.end(), stretches.begin() + static_cast<std::ptrdiff_t>(at.back()) + 1, stretches.end());
    stretches = std::move(result);
  }

  const SizedGraph& graph_;
  const Labels labels_;
  std::vector<int> taken_;  // the class of the block that has an operator; -1: none
  std::vector<int> cuts_;
  std::vector<Stretch> blocks_;
  int count_ = 0;
};

}  // namespace

std::vector<std::vector<int>> blocks(const SizedGraph& graph) { return BlockFinder(graph).find(); }

}  // namespace tenon::partition
