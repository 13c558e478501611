#include "tensor/realize/pending.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fail.h"
#include "base/hash.h"
#include "ir/unify_names.h"
#include "ops/make.h"
#include "tenon/ops.h"
#include "tensor/record/cell.h"
#include "tensor/record/leaf.h"

namespace tenon::tensors {
namespace {

bool has_elements(const Value& resolved) {
  return leaf_of(resolved.node()) != nullptr || known_elements(resolved) != nullptr;
}

}  // namespace

const Array& elements_of(const Value& leaf) {
  if (const auto* number = leaf.node().as<Constant>()) {
    return number->value;
  }
  const Leaf* attached = leaf_of(leaf.node());
  return attached != nullptr ? attached->array : *known_elements(leaf);
}

void Pending::add(std::span<const Value> roots) {
  for (const Value& root : roots) {
    visit(root);
    roots_.push_back(find(resolve(root)));
  }
}

Edge Pending::find(const Value& resolved) const {
  if (const auto leaf = known_.find(resolved); leaf != known_.end()) {
    return {leaf->second, 0};
  }
  const auto operation = operations_.find(&resolved.node());
  return {operation == operations_.end() ? -1 : operation->second, resolved.output()};
}

void Pending::visit(const Value& root) {
  struct Frame {
    const Node* node;  // which the root holds
    size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&](const Value& value) {
    const Value& standing = resolve(value);
    if (!has_elements(standing)) {
      if (!operations_.contains(&standing.node())) {
        TENON_CHECK(standing.node().as<Input>() == nullptr, "a recorded graph has an input that stands for nothing");
        stack.push_back({&standing.node()});
      }
    } else if (known_.emplace(standing, static_cast<int>(entries_.size())).second) {
      leaves_.push_back(static_cast<int>(entries_.size()));
      entries_.push_back({.value = standing, .leaf = true});
    }
  };
  enter(root);
  while (!stack.empty()) {
    Frame& top = stack.back();
    const Node& node = *top.node;
    if (top.next < node.inputs.size()) {
      enter(node.inputs[top.next++]);
      continue;
    }
    if (operations_.try_emplace(&node, static_cast<int>(entries_.size())).second) {
      Entry entry{.value = Value(&node, 0)};
      entry.operands.reserve(node.inputs.size());
      for (const Value& in : node.inputs) {
        entry.operands.push_back(find(resolve(in)));
      }
      entries_.push_back(std::move(entry));
    }
    stack.pop_back();
  }
}

void Pending::open_number(size_t entry) {
  Entry& opened = entries_[entry];
  TENON_CHECK(opened.value.node().as<Constant>() != nullptr, "no constant is to be a leaf");
  opened.leaf = true;
  operations_.erase(&opened.value.node());
  known_.emplace(opened.value, static_cast<int>(entry));
  leaves_.insert(std::ranges::lower_bound(leaves_, static_cast<int>(entry)), static_cast<int>(entry));
}

Value Pending::at(const Edge& edge) const {
  const Entry& entry = entries_[static_cast<size_t>(edge.entry)];
  return entry.leaf ? entry.value : Value(&entry.value.node(), edge.output);
}

Pending Pending::on_own_inputs() const {
  return remade([](const Shape& shape) { return shape; }, [](const Op& op) { return op; });
}

Pending Pending::remade(const std::function<Shape(const Shape&)>& shape, const std::function<Op(const Op&)>& op) const {
  return remade(shape, op, [](size_t i, const Shape& given) { return input(fmt::format("x{}", i), given); });
}

Pending Pending::remade(const std::function<Shape(const Shape&)>& shape, const std::function<Op(const Op&)>& op,
                        const LeafMaker& leaf) const {
  const UnifyNames lenient;
  Pending result;
  result.roots_ = roots_;
  result.leaves_ = leaves_;
  size_t leaves = 0;
  for (const Entry& entry : entries_) {
    const Node& node = entry.value.node();
    Entry copy{.value = {}, .leaf = entry.leaf, .operands = entry.operands};
    if (entry.leaf) {
      copy.value = leaf(leaves++, shape(entry.value.shape()));
      result.known_.emplace(copy.value, static_cast<int>(result.entries_.size()));
    } else {
      const Place place(node.place);
      std::vector<Value> operands;
      for (const Edge& edge : entry.operands) {
        operands.push_back(result.at(edge));
      }
      copy.value = make_all(op(node.op), std::move(operands)).front();
    }
    result.entries_.push_back(std::move(copy));
  }
  return result;
}

int Pending::depth() const {
  std::vector<int> depths;
  int deepest = 0;
  for (const Entry& entry : entries_) {
    int depth = entry.leaf ? 0 : 1;
    for (const Edge& edge : entry.operands) {
      depth = std::max(depth, depths[static_cast<size_t>(edge.entry)] + 1);
    }
    depths.push_back(depth);
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

namespace {

uint64_t hash_entries(const Pending& pending, const std::function<uint64_t(const Entry&)>& content) {
  uint64_t hash = 0;
  const auto add = [&](uint64_t part) { hash = combine_hash(hash, part); };
  const auto add_edge = [&](const Edge& edge) {
    add(static_cast<uint64_t>(edge.entry));
    add(static_cast<uint64_t>(edge.output));
  };
  for (const Entry& entry : pending.entries()) {
    add(content(entry));
    std::ranges::for_each(entry.operands, add_edge);
  }
  std::ranges::for_each(pending.roots(), add_edge);
  return hash;
}

}  // namespace

uint64_t Pending::hash() const {
  return hash_entries(*this, [](const Entry& entry) {
    return entry.leaf ? entry.value.shape().hash() : hash_structure(entry.value.node().op);
  });
}

uint64_t Pending::skeleton_hash() const {
  return hash_entries(*this, [](const Entry& entry) {
    const Shape& shape = entry.value.shape();
    const uint64_t kind = entry.leaf ? 0 : entry.value.node().op.index() + 1;
    return combine_hash(combine_hash(kind, static_cast<uint64_t>(shape.dtype())), static_cast<uint64_t>(shape.rank()));
  });
}

bool operator==(const Pending& a, const Pending& b) {
  return a.roots_ == b.roots_ && std::ranges::equal(a.entries_, b.entries_, [](const Entry& x, const Entry& y) {
           if (x.leaf != y.leaf || x.operands != y.operands) {
             return false;
           }
           return x.leaf ? x.value.shape() == y.value.shape() : same_structure(x.value.node().op, y.value.node().op);
         });
}

}  // namespace tenon::tensors
