#include "tensor/realize/stored_along.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/hash.h"
#include "ir/node_number.h"
#include "tensor/record/kept.h"
#include "tensor/record/leaf.h"
#include "tensor/record/symbols.h"

namespace tenon::tensors {
namespace {

constexpr size_t kMostComputed = 1 << 16;
constexpr size_t kMostKeys = 1 << 12;

/// What is stored along from a place, and the sizes that it had: -1 for those that changed.
using SeenSizes = std::vector<int64_t>;

/// Never destroyed, as other tables of lazy tensors.
struct Learnt {
  std::mutex mutex;
  /// By a node's number: the place whose look computed it and did not store it.
  std::unordered_map<uint64_t, uint64_t> computed;
  std::unordered_map<uint64_t, SeenSizes> stored;
};
Learnt& learnt() {
  static auto& instance = *new Learnt;
  return instance;
}

/// An operation wherever it is recorded: what it is, where, and its kind of result.
uint64_t key_of(uint64_t place, const Node& node, int output) {
  const Shape& shape = node.shapes[static_cast<size_t>(output)];
  uint64_t key = combine_hash(place, hash_bytes(op_name(node.op)));
  key = combine_hash(key, hash_bytes(node.place));
  key = combine_hash(key, static_cast<uint64_t>(output));
  return combine_hash(combine_hash(key, static_cast<uint64_t>(shape.dtype())), static_cast<uint64_t>(shape.rank()));
}

/// The sizes as far as they are known, -1 elsewhere.
SeenSizes seen_sizes(const Shape& shape) {
  SeenSizes sizes;
  for (const Axis& axis : shape.axes()) {
    sizes.push_back(size_of(axis.extent()).value_or(-1));
  }
  return sizes;
}

void add_seen(SeenSizes& known, const SeenSizes& now) {
  for (size_t i = 0; i < known.size(); ++i) {
    known[i] = known[i] == now[i] ? now[i] : -1;
  }
}

/// Whether it is one element.
bool is_one_element(const Shape& shape) {
  return std::ranges::all_of(shape.axes(), [](const Axis& axis) { return size_of(axis.extent()) == 1; });
}

/// A view is stored as what it shows, unless that is larger: a slice.
bool is_stored_below(const Node& node) {
  return as_view(node.op).has_value() && node.as<Slice>() == nullptr && node.as<Pad>() == nullptr;
}

}  // namespace

StoredAlong::StoredAlong(const Pending& pending, const std::vector<Value>& values,
                         const std::vector<std::shared_ptr<Cell>>& cells, std::string_view place)
    : pending_(pending), place_(hash_bytes(place)) {
  find_references(values, cells);
  learn();
  Learnt& all = learnt();
  const std::lock_guard lock(all.mutex);
  if (all.stored.empty()) {
    return;
  }
  for (size_t i = 0; i < pending.entries().size(); ++i) {
    const Entry& entry = pending.entries()[i];
    if (entry.leaf || !referred_[i] || entry.value.node().inputs.empty()) {
      continue;
    }
    const Node& node = entry.value.node();
    for (int output = 0; output < static_cast<int>(node.shapes.size()); ++output) {
      const Edge edge{.entry = static_cast<int>(i), .output = output};
      if (!all.stored.contains(key_of(place_, node, output))) {
        continue;
      }
      const auto root = std::ranges::find(pending.roots(), edge);
      if (root == pending.roots().end()) {
        edges_.push_back(edge);
      } else {
        kept_roots_.push_back(static_cast<size_t>(root - pending.roots().begin()));
      }
    }
  }
}

void StoredAlong::find_references(const std::vector<Value>& values, const std::vector<std::shared_ptr<Cell>>& cells) {
  std::unordered_map<const Node*, uint32_t> ours;
  for (const Value& value : values) {
    ++ours[&value.node()];
  }
  for (const auto& cell : cells) {
    if (!cell->tracked) {  // others keep their graph, for gradients
      ++ours[&cell->value.node()];
    }
  }
  const std::vector<Entry>& entries = pending_.entries();
  std::vector<uint32_t> counts(entries.size(), 1);
  for (const Entry& entry : entries) {
    if (entry.leaf) {
      continue;
    }
    const std::vector<Value>& inputs = entry.value.node().inputs;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto operand = static_cast<size_t>(entry.operands[k].entry);
      if (&entries[operand].value.node() == &inputs[k].node()) {  // and no stand-in, which refers to it
        ++counts[operand];
      }
    }
  }
  referred_.assign(entries.size(), false);
  for (size_t i = entries.size(); i-- > 0;) {
    if (entries[i].leaf) {
      continue;
    }
    const Node& node = entries[i].value.node();
    const auto own = ours.find(&node);
    const uint32_t known = counts[i] + (own == ours.end() ? 0 : own->second);
    if (referred_[i] || node.references.load(std::memory_order_relaxed) > known) {
      referred_[i] = true;
      for (const Edge& edge : entries[i].operands) {
        referred_[static_cast<size_t>(edge.entry)] = true;
      }
    }
  }
}

void StoredAlong::learn() const {
  Learnt& all = learnt();
  const std::lock_guard lock(all.mutex);
  if (all.computed.empty()) {
    return;
  }
  const std::vector<Entry>& entries = pending_.entries();
  std::vector<uint64_t> before(entries.size(), 0);  // the place that computed it, or 0
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].leaf) {
      const auto found = all.computed.find(node_number(entries[i].value.node()));
      before[i] = found == all.computed.end() ? 0 : found->second;
    }
  }
  const auto is_leaf = [&](const Edge& edge) { return entries[static_cast<size_t>(edge.entry)].leaf; };
  const auto is_cheap = [&](const Entry& entry) {  // a learning rate that is cast, a part of an array
    const Entry* source = &entry;
    while (!source->leaf && as_view(source->value.node().op)) {
      source = &entries[static_cast<size_t>(source->operands.front().entry)];
    }
    return source->leaf || (is_one_element(source->value.shape()) && std::ranges::all_of(source->operands, is_leaf));
  };
  const auto again = [&](Edge edge) {
    uint64_t place = before[static_cast<size_t>(edge.entry)];
    const Entry* entry = &entries[static_cast<size_t>(edge.entry)];
    while (place != 0 && is_stored_below(entry->value.node())) {
      edge = entry->operands.front();
      entry = &entries[static_cast<size_t>(edge.entry)];
      place = before[static_cast<size_t>(edge.entry)];
    }
    if (place == 0 || entry->value.node().inputs.empty() || is_cheap(*entry)) {
      return;
    }
    if (all.stored.size() >= kMostKeys) {
      all.stored.clear();
    }
    const Node& node = entry->value.node();
    const SeenSizes sizes = seen_sizes(node.shapes[static_cast<size_t>(edge.output)]);
    const auto [at, fresh] = all.stored.try_emplace(key_of(place, node, edge.output), sizes);
    add_seen(at->second, sizes);
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    if (before[i] == 0) {
      std::ranges::for_each(entries[i].operands, again);
    }
  }
  std::ranges::for_each(pending_.roots(), again);
}

void StoredAlong::finish(const std::vector<Array>& results) const {
  Learnt& all = learnt();
  const std::lock_guard lock(all.mutex);
  const auto keep = [&](const Edge& edge, const Array& array) {
    const Value value = pending_.at(edge);
    Shape shape = shape_of_result(array, value.shape());
    const auto stored = all.stored.find(key_of(place_, value.node(), value.output()));
    if (stored != all.stored.end()) {
      add_seen(stored->second, array.dims());
      std::vector<Axis> axes = shape.axes();
      for (size_t i = 0; i < axes.size(); ++i) {
        if (stored->second[i] == -1 && axes[i].extent().is_constant()) {
          axes[i] = Axis(symbol("n", array.dims()[i]));
        }
      }
      shape = Shape(shape.dtype(), std::move(axes));
    }
    keep_elements(value, array, shape);
  };
  for (size_t i = 0; i < edges_.size(); ++i) {
    keep(edges_[i], results[results.size() - edges_.size() + i]);
  }
  for (const size_t i : kept_roots_) {
    keep(pending_.roots()[i], results[i]);
  }
  if (all.computed.size() >= kMostComputed) {
    all.computed.clear();
  }
  std::vector<bool> of_leaves;  // what is made of constants alone is the same node again without being state
  const auto follows_from_leaves = [&](const Edge& edge) { return of_leaves[static_cast<size_t>(edge.entry)]; };
  for (size_t i = 0; i < pending_.entries().size(); ++i) {
    const Entry& entry = pending_.entries()[i];
    of_leaves.push_back(entry.leaf || std::ranges::any_of(entry.operands, follows_from_leaves));
  }
  // ... but where that is all that was looked at: whether a loop goes on that counts by itself.
  const bool all_count = std::ranges::none_of(pending_.roots(), follows_from_leaves);
  for (size_t i = 0; i < pending_.entries().size(); ++i) {
    const Entry& entry = pending_.entries()[i];
    if (!entry.leaf && (of_leaves[i] || all_count) && referred_[i] && kept_elements(entry.value) == nullptr) {
      all.computed[node_number(entry.value.node())] = place_;
    }
  }
}

}  // namespace tenon::tensors
