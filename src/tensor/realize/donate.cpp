#include "tensor/realize/donate.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tensor/record/leaf.h"

namespace tenon::tensors {
namespace {

/// What a node is computed from: its operands, or, of a stand-in, what it stands for.
std::vector<const Node*> sources(const Node& node) {
  if (const Leaf* leaf = leaf_of(node)) {
    return leaf->known ? std::vector<const Node*>{} : std::vector<const Node*>{&leaf->definition.node()};
  }
  std::vector<const Node*> result;
  for (const Value& in : node.inputs) {
    result.push_back(&in.node());
  }
  return result;
}

/// References that are accounted for, by node.
using Counts = std::unordered_map<const Node*, uint32_t>;

void count_below(const std::vector<const Node*>& roots, Counts& counts, std::vector<const Node*>& visited) {
  std::unordered_set<const Node*> seen;
  seen.reserve(counts.size());
  std::vector<const Node*> work = roots;
  while (!work.empty()) {
    const Node* node = work.back();
    work.pop_back();
    if (!seen.insert(node).second) {
      continue;
    }
    visited.push_back(node);
    for (const Node* source : sources(*node)) {
      ++counts[source];
      work.push_back(source);
    }
  }
}

/// The nodes that somebody else holds, and all that they are computed from.
std::unordered_set<const Node*> held_by_others(const std::vector<const Node*>& visited, const Counts& counts) {
  std::vector<const Node*> work;
  for (const Node* node : visited) {
    const auto accounted = counts.find(node);
    if (node->references.load() != (accounted == counts.end() ? 0 : accounted->second)) {
      work.push_back(node);
    }
  }
  std::unordered_set<const Node*> held;
  while (!work.empty()) {
    const Node* node = work.back();
    work.pop_back();
    if (held.insert(node).second) {
      const std::vector<const Node*> below = sources(*node);
      work.insert(work.end(), below.begin(), below.end());
    }
  }
  return held;
}

/// The same memory under a count of its own: whoever looks sees that nobody shares it. It keeps the array, because
/// further results may lie there: a view of the new elements.
Array lent(const Array& array) {
  auto* const data = const_cast<std::byte*>(array.data());
  return Array::adopt(array.dtype(), array.dims(), {data, [array](std::byte*) {}});
}

}  // namespace

Donation::Donation(const std::vector<std::shared_ptr<Cell>>& cells, const std::vector<Value>& values,
                   const Pending& pending, const std::vector<int>& aliases, const Program& program)
    : leaf_of_output_(aliases.size(), -1) {
  if (std::ranges::all_of(aliases, [](int leaf) { return leaf < 0; })) {
    return;
  }
  Counts counts;
  counts.reserve(2 * pending.entries().size());
  std::vector<const Node*> roots;
  const auto hold = [&](const Value& value) {
    if (value) {
      ++counts[&value.node()];
      roots.push_back(&value.node());
    }
  };
  std::ranges::for_each(values, hold);
  for (const auto& cell : cells) {
    if (!cell->tracked || leaf_of(cell->value.node()) != nullptr) {  // others keep their graph, for gradients
      hold(cell->value);
      hold(cell->origin);
    }
  }
  for (const Entry& entry : pending.entries()) {
    hold(entry.value);
    if (entry.leaf) {
      hold(entry.value);  // the key of Pending's table
    }
  }
  std::vector<const Node*> visited;
  count_below(roots, counts, visited);
  const std::unordered_set<const Node*> held = held_by_others(visited, counts);
  for (size_t i = 0; i < aliases.size(); ++i) {
    if (aliases[i] < 0 || program.first_write[i] < 0) {
      continue;
    }
    const Value& leaf = pending.leaf(static_cast<size_t>(aliases[i]));
    if (!held.contains(&leaf.node()) && leaf_of(leaf.node()) != nullptr && !elements_of(leaf).is_shared()) {
      leaf_of_output_[i] = aliases[i];
      first_write_ = first_write_ < 0 ? program.first_write[i] : std::min(first_write_, program.first_write[i]);
    }
  }
}

std::vector<Array> Donation::run(const Executable& executable, std::vector<Array> inputs, RunOptions options) const {
  if (options.cancel != nullptr && options.cancel->is_cancelled()) {
    throw Cancelled();
  }
  options.cancel_before_step = first_write_;
  const std::vector<Array> kept = inputs;
  for (const int leaf : leaf_of_output_) {
    if (leaf >= 0) {
      inputs[static_cast<size_t>(leaf)] = lent(kept[static_cast<size_t>(leaf)]);
    }
  }
  std::vector<Array> results = executable.run(std::move(inputs), options);
  for (size_t i = 0; i < results.size(); ++i) {
    const int leaf = leaf_of_output_[i];
    if (leaf >= 0 && results[i].data() == kept[static_cast<size_t>(leaf)].data()) {
      results[i] = kept[static_cast<size_t>(leaf)];
    }
  }
  return results;
}

}  // namespace tenon::tensors
