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
/// Activations that pass from block to block: one in most networks, as many as there are branches in networks of
/// several resolutions, and what an encoder gave in a decoder.
constexpr int kMostPassing = 8;
/// Blocks of different classes that take turns.
constexpr size_t kMostTurns = 6;

class BlockFinder {
 public:
  explicit BlockFinder(const SizedGraph& graph)
      : graph_(graph), labels_(labels_of(graph)), taken_(graph.operators.size(), -1) {}

  std::vector<std::vector<int>> find() {
    // What lies between blocks of fewer activations may have blocks of more in it.
    for (int passing = 1; passing <= kMostPassing; ++passing) {
      classify(passing);
    }
    match_members();
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

  bool alike(const Stretch& a, const Stretch& b) const {
    return overlap(labels(a.begin, a.end), labels(b.begin, b.end)) >= kAlike;
  }

  /// Whether a block of a class that was found lies in the stretch, and much else.
  bool holds_block(const Stretch& stretch) const {
    return std::ranges::any_of(first_, [&](const Stretch& block) {
      const Labels inside = labels(stretch.begin, stretch.end);
      return stretch.size() >= 2 * block.size() && !std::ranges::search(inside, labels(block.begin, block.end)).empty();
    });
  }

  /// Steps 1 and 2. A class needs two members; what is like the blocks of a class that was found is one more of them.
  void classify(int passing) {
    cuts_ = separators(graph_, passing);
    std::vector<std::vector<Stretch>> classes;
    for (size_t i = 0; i + 1 < cuts_.size(); ++i) {
      const Stretch stretch{cuts_[i], cuts_[i + 1], -1};
      if (stretch.size() < kLeastBlock || taken_[static_cast<size_t>(stretch.begin)] >= 0) {
        continue;
      }
      if (holds_block(stretch)) {
        continue;  // it is found where more may pass
      }
      const auto known = std::ranges::find_if(first_, [&](const Stretch& block) { return alike(stretch, block); });
      if (known != first_.end()) {
        take(stretch.begin, stretch.end, known->kind);
        continue;
      }
      const auto at = std::ranges::find_if(
          classes, [&](const std::vector<Stretch>& members) { return alike(stretch, members[0]); });
      if (at == classes.end()) {
        classes.push_back({stretch});
      } else {
        at->push_back(stretch);
      }
    }
    std::erase_if(classes, [](const std::vector<Stretch>& members) { return members.size() < 2; });
    std::ranges::sort(classes, std::greater(), [](const std::vector<Stretch>& members) { return members[0].size(); });
    for (const std::vector<Stretch>& members : classes) {
      const auto kind = static_cast<int>(first_.size());
      first_.push_back({members[0].begin, members[0].end, kind});
      for (const Stretch& each : members) {
        if (taken_[static_cast<size_t>(each.begin)] < 0) {
          take(each.begin, each.end, kind);
        }
      }
      match_template(kind);  // before smaller classes, whose members may lie inside of what it finds
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

  /// The last of several blocks may pass less on, so that there are places to cut inside of it: it has the sequence of
  /// operators of another one.
  void match_members() {
    std::vector<std::pair<Labels, int>> patterns;
    for (const Stretch& block : blocks_) {
      patterns.emplace_back(labels(block.begin, block.end), block.kind);
    }
    std::ranges::sort(patterns);
    patterns.erase(std::ranges::unique(patterns).begin(), patterns.end());
    std::ranges::stable_sort(patterns, std::greater(), [](const auto& pattern) { return pattern.first.size(); });
    for (const auto& [pattern, kind] : patterns) {
      for (int at = 0; at + static_cast<int>(pattern.size()) <= graph_.size(); ++at) {
        if (matches(at, pattern, 0)) {
          take(at, at + static_cast<int>(pattern.size()), kind);
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

  bool has_product(const Stretch& stretch) const {
    for (int i = stretch.begin; i < stretch.end; ++i) {
      if (graph_.op(i).role == Role::product || graph_.op(i).role == Role::depthwise) {
        return true;
      }
    }
    return false;
  }

  /// What stands between two blocks and has no product, such as a norm, belongs to the first. Where more stands behind
  /// a block, as much of it does as behind others of its class.
  void attach_norms(std::vector<Stretch>& stretches) const {
    const auto is_between = [&](size_t i) {
      return i > 0 && i + 1 < stretches.size() && stretches[i].kind < 0 && stretches[i - 1].kind >= 0 &&
             !has_product(stretches[i]);
    };
    std::map<int, Labels> behind;
    for (size_t i = 0; i < stretches.size(); ++i) {
      if (is_between(i)) {
        behind.emplace(stretches[i - 1].kind, labels(stretches[i].begin, stretches[i].end));
      }
    }
    std::vector<Stretch> result;
    for (size_t i = 0; i < stretches.size(); ++i) {
      Stretch each = stretches[i];
      if (is_between(i)) {
        result.back().end = each.end;
        continue;
      }
      const auto usual = each.kind < 0 && i > 0 ? behind.find(stretches[i - 1].kind) : behind.end();
      if (usual != behind.end()) {
        const auto length = static_cast<int>(usual->second.size());
        if (length <= each.size() && labels(each.begin, each.begin + length) == usual->second) {
          result.back().end += length;
          each.begin += length;
        }
      }
      if (each.size() > 0) {
        result.push_back(each);
      }
    }
    stretches = std::move(result);
  }

  /// Step 4: the shortest sequence of blocks, not all of one class, that comes again directly behind itself. Where the
  /// run is no multiple of it, the first blocks are the end of one whose beginning is something else, if there is such.
  void merge_turns(std::vector<Stretch>& stretches) const {
    const auto has_kind = [&](size_t i, int kind) { return i < stretches.size() && stretches[i].kind == kind; };
    const auto is_other = [&](size_t i) { return has_kind(i, -1) && has_product(stretches[i]); };
    std::vector<Stretch> result;
    for (size_t at = 0; at < stretches.size();) {
      const auto [turn, run] = turns_at(stretches, at);
      if (turn == 0) {
        result.push_back(stretches[at++]);
        continue;
      }
      const size_t rest = at > 0 && is_other(at - 1) && !is_other(at + run) ? run % turn : 0;
      for (size_t i = 0; i < rest; ++i) {
        result.push_back(stretches[at++]);
      }
      for (size_t i = 0; i < (run - rest) / turn; ++i, at += turn) {
        result.push_back({stretches[at].begin, stretches[at + turn - 1].end, stretches[at].kind});
      }
    }
    stretches = std::move(result);
  }

  /// How many blocks from here on are a turn, and how many repeat it, the last turn not always to its end; 0: none do.
  static std::pair<size_t, size_t> turns_at(const std::vector<Stretch>& stretches, size_t at) {
    for (size_t turn = 2; turn <= kMostTurns; ++turn) {
      size_t run = 0;
      bool differ = false;
      while (at + run < stretches.size() && stretches[at + run].kind >= 0 &&
             (run < turn || stretches[at + run].kind == stretches[at + run - turn].kind)) {
        differ |= stretches[at + run].kind != stretches[at].kind;
        ++run;
      }
      if (differ && run >= 2 * turn) {
        return {turn, run};
      }
    }
    return {0, 0};
  }

  const SizedGraph& graph_;
  const Labels labels_;
  std::vector<int> taken_;  // the class of the block that has an operator; -1: none
  std::vector<int> cuts_;
  std::vector<Stretch> blocks_;
  std::vector<Stretch> first_;  // a block of each class
};

}  // namespace

std::vector<std::vector<int>> blocks(const SizedGraph& graph) { return BlockFinder(graph).find(); }

}  // namespace tenon::partition
