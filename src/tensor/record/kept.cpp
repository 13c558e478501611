#include "tensor/record/kept.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/refused.h"
#include "ir/node.h"
#include "ir/unify_names.h"
#include "ops/make.h"
#include "tensor/record/leaf.h"

namespace tenon::tensors {
namespace {

struct KeptNode {
  Value held;
  std::map<int, Value> leaves;  // by output: of the same elements
};

/// Never destroyed, as other tables of this folder.
struct KeptTable {
  std::mutex mutex;
  std::unordered_map<const Node*, KeptNode> nodes;
  std::atomic<size_t> count = 0;  // of nodes: most programs keep nothing, and ask without a lock
  std::atomic<uint64_t> generation = 0;
  std::array<std::atomic<uint32_t>, 1024> at_place = {};  // how many there are: most nodes are none of them

  std::atomic<uint32_t>& place_of(const Node* node) {
    return at_place[(std::bit_cast<uintptr_t>(node) >> 4U) * 0x9E3779B97F4A7C15U >> 54U];
  }
};
KeptTable& kept_table() {
  static auto& instance = *new KeptTable;
  return instance;
}

/// The leaf in the place of a kept value; empty for others.
Value kept_leaf(const Value& value) {
  KeptTable& all = kept_table();
  if (all.place_of(&value.node()).load(std::memory_order_acquire) == 0) {
    return {};
  }
  const std::lock_guard lock(all.mutex);
  const auto found = all.nodes.find(&value.node());
  if (found == all.nodes.end()) {
    return {};
  }
  const auto output = found->second.leaves.find(value.output());
  return output == found->second.leaves.end() ? Value() : output->second;
}

/// Makes operations again on the leaves of values that are kept.
class OnLeaves {
 public:
  Value made(const Value& root) {
    std::vector<const Node*> work;
    Value result = find(root, work);
    while (!work.empty()) {
      const Node* node = work.back();
      const size_t before = work.size();
      std::vector<Value> operands;
      for (const Value& in : node->inputs) {
        operands.push_back(find(in, work));
      }
      if (work.size() > before) {
        continue;  // these first
      }
      work.pop_back();
      if (!made_.contains(node)) {
        made_.emplace(node, remade(*node, std::move(operands)));
      }
    }
    return result ? result : find(root, work);
  }

 private:
  /// What stands for a value, or empty with its node added to `work`.
  Value find(const Value& value, std::vector<const Node*>& work) {
    const Node& node = value.node();
    if (node.inputs.empty()) {
      return value;
    }
    if (Value leaf = kept_leaf(value)) {
      return leaf;
    }
    const auto found = made_.find(&node);
    if (found == made_.end()) {
      work.push_back(&node);
      return {};
    }
    return found->second.empty() ? value : found->second[static_cast<size_t>(value.output())];
  }

  /// The outputs upon other operands; none where all are the same.
  static std::vector<Value> remade(const Node& node, std::vector<Value> operands) {
    if (operands == node.inputs) {
      return {};
    }
    const Place place(node.place);
    return make_all(Op(node.op), std::move(operands));
  }

  std::unordered_map<const Node*, std::vector<Value>> made_;
};

}  // namespace

void keep_elements(const Value& value, const Array& array, const Shape& shape) {
  KeptTable& all = kept_table();
  Value leaf = make_leaf(array, shape);
  const std::lock_guard lock(all.mutex);
  const auto [at, is_new] = all.nodes.try_emplace(&value.node());
  KeptNode& kept = at->second;
  all.place_of(at->first) += is_new ? 1 : 0;
  kept.held = value;
  std::swap(kept.leaves[value.output()], leaf);  // the one before dies outside of the lock
  all.count = all.nodes.size();
  ++all.generation;
}

const Array* kept_elements(const Value& value) {
  const Value leaf = kept_leaf(value);
  return leaf ? &leaf_of(leaf.node())->array : nullptr;
}

uint64_t kept_generation() { return kept_table().generation.load(std::memory_order_relaxed); }

Value upon_kept(const Value& value) {
  const UnifyNames lenient;
  try {
    return OnLeaves().made(value);
  } catch (const Refused&) {  // an operation that holds at the sizes that it was recorded with alone
    return value;
  }
}

void drop_unused_elements() {
  KeptTable& all = kept_table();
  if (all.count.load(std::memory_order_relaxed) == 0) {
    return;
  }
  std::vector<KeptNode> dropped;  // arrays and nodes die outside of the lock
  const std::lock_guard lock(all.mutex);
  for (auto at = all.nodes.begin(); at != all.nodes.end();) {
    if (at->first->references.load() == 1) {
      dropped.push_back(std::move(at->second));
      --all.place_of(at->first);
      at = all.nodes.erase(at);
    } else {
      ++at;
    }
  }
  all.count = all.nodes.size();
}

void drop_if_unused(const Value& value) {
  KeptTable& all = kept_table();
  if (all.count.load(std::memory_order_relaxed) == 0) {
    return;
  }
  KeptNode dropped;
  const std::lock_guard lock(all.mutex);
  const auto found = all.nodes.find(&value.node());
  if (found != all.nodes.end() && value.node().references.load() == 2) {
    dropped = std::move(found->second);
    --all.place_of(found->first);
    all.nodes.erase(found);
    all.count = all.nodes.size();
  }
}

}  // namespace tenon::tensors
