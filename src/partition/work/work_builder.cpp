#include "partition/work/work_builder.h"

#include <algorithm>

#include "base/hash.h"
#include "partition/work/node_costs.h"

namespace tenon::partition {
namespace {

bool is_leaf(const Node& node) {
  return node.as<Input>() != nullptr || node.as<Constant>() != nullptr || node.as<Iota>() != nullptr;
}

bool is_product(const Node& node) { return node.as<Contract>() != nullptr || node.as<Conv>() != nullptr; }

std::string kind_of(const Node& node) {
  const auto* call = node.as<Call>();
  return call != nullptr ? call->body.name() : std::string(op_name(node.op));
}

}  // namespace

WorkBuilder::WorkBuilder(const Graph& graph) {
  work_.graph = graph;
  for (const Node* node : graph.nodes()) {
    for (const Value& operand : node->inputs) {
      ++uses_[&operand.node()];
    }
    const auto known = [&](const Value& operand) { return is_known(operand.node()); };
    if (node->as<Input>() != nullptr || !std::ranges::all_of(node->inputs, known)) {
      continue;
    }
    known_.insert(node);
    const auto* constant = node->as<Constant>();
    const auto weight = [&](const Value& operand) { return weights_.contains(&operand.node()); };
    if ((constant != nullptr && constant->value.size() > 1) || std::ranges::any_of(node->inputs, weight)) {
      weights_.insert(node);
    }
  }
  for (const Output& output : graph.outputs()) {
    outputs_.insert(&output.value.node());
    names_.insert(output.name);
    if (output.aliases >= 0) {
      weights_.insert(&graph.inputs()[static_cast<size_t>(output.aliases)].node());
    }
  }
  for (const Value& input : graph.inputs()) {
    names_.insert(input.node().as<Input>()->name);
  }
}

bool WorkBuilder::computes(const Node& node) const { return !is_leaf(node) && !is_known(node) && !is_free_view(node); }

bool WorkBuilder::is_sole_reader(const Node& reader, const Value& value) const {
  return std::ranges::count(reader.inputs, value) == 1 && uses_.at(&value.node()) == 1 &&
         !outputs_.contains(&value.node());
}

/// A product's bias, and the number that a sum is divided by, belong to what they are applied to.
int WorkBuilder::bias_or_mean(const Node& node) const {
  if (node.as<Map>() == nullptr || node.inputs.size() != 2) {
    return -1;
  }
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Value& value = node.inputs[i];
    const Node& other = base_of(node.inputs[1 - i]).node();
    const Node* made = &value.node();
    if (!is_sole_reader(node, value)) {
      continue;
    }
    // A bias has one number for each channel: fewer than there are results, and more than one.
    const bool parameter = weights_.contains(&other) && bytes_seen(node.inputs[1 - i]) != bytes_of(value.shape());
    if (is_product(*made) && parameter) {
      return owner_.at(made);
    }
    if (is_free_view(*made) && uses_.at(&made->inputs[0].node()) == 1) {
      made = &made->inputs[0].node();
    }
    if (made->as<Reduce>() != nullptr && is_known(other) && !weights_.contains(&other) && owner_.contains(made)) {
      return owner_.at(made);
    }
  }
  return -1;
}

/// In a composite, a reduction and what is made of it up to the next product are one operator: the softmax of
/// attention.
int WorkBuilder::rows_of_composite(const Node& node, const Opened& opened) const {
  const auto from = opened.origin.find(&node);
  if (from == opened.origin.end() || is_product(node)) {
    return -1;
  }
  for (const Value& operand : node.inputs) {
    const Node* made = &base_of(operand).node();
    const auto owner = owner_.find(made);
    const auto origin = opened.origin.find(made);
    if (owner == owner_.end() || origin == opened.origin.end() || origin->second.call != from->second.call) {
      continue;
    }
    const std::vector<const Node*>& group = work_.nodes[static_cast<size_t>(owner->second)];
    if (group.front()->as<Reduce>() != nullptr) {
      return owner->second;
    }
  }
  return -1;
}

/// The operator that a node belongs to; -1: a new one. Operators stand in an order that operands precede, so none takes
/// a node that reads what a later one computes: that may depend on it.
int WorkBuilder::joined(const Node& node, const Opened& opened) const {
  const int bias = bias_or_mean(node);
  const int owner = bias >= 0 ? bias : rows_of_composite(node, opened);
  const bool reads_later = std::ranges::any_of(node.inputs, [&](const Value& operand) {
    const auto at = owner_.find(&base_of(operand).node());
    return at != owner_.end() && at->second > owner;
  });
  return reads_later ? -1 : owner;
}

void WorkBuilder::group_by_rules(const Opened& opened) {
  opened_ = &opened;
  for (const Node* node : work_.graph.nodes()) {
    if (!computes(*node)) {
      continue;
    }
    int owner = joined(*node, opened);
    if (owner < 0) {
      owner = static_cast<int>(work_.nodes.size());
      work_.nodes.emplace_back();
    }
    work_.nodes[static_cast<size_t>(owner)].push_back(node);
    owner_.emplace(node, owner);
  }
}

void WorkBuilder::group_as_given(std::span<const std::vector<const Node*>> groups) {
  std::unordered_map<const Node*, int> times;
  for (const std::vector<const Node*>& group : groups) {
    for (const Node* node : group) {
      ++times[node];
    }
  }
  // What several groups compute belongs to one that writes it: where nothing in the group reads it.
  std::unordered_map<const Node*, size_t> writer;
  for (size_t g = 0; g < groups.size(); ++g) {
    std::unordered_set<const Node*> read;
    for (const Node* node : groups[g]) {
      for (const Value& operand : node->inputs) {
        const Node* made = &operand.node();
        for (read.insert(made); is_free_view(*made); made = &made->inputs[0].node()) {
          read.insert(&made->inputs[0].node());
        }
      }
    }
    for (const Node* node : groups[g]) {
      if (!read.contains(node)) {
        writer.emplace(node, g);
      }
    }
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<const Node*> own;
    for (const Node* node : groups[g]) {
      const bool is_data = node->as<Input>() != nullptr || node->as<Constant>() != nullptr;
      const auto at = writer.find(node);
      const bool writes = at != writer.end() && at->second == g;
      const bool is_anyones = is_leaf(*node) || (is_known(*node) && times.at(node) > 1);
      if (!is_data && (at == writer.end() ? !is_anyones : writes) &&
          owner_.emplace(node, static_cast<int>(work_.nodes.size())).second) {
        own.push_back(node);
      }
    }
    if (!own.empty()) {
      work_.nodes.push_back(std::move(own));
      members_.emplace_back(groups[g].begin(), groups[g].end());
    }
  }
  // What a step computes in every run is not known before it, even where no input decides it.
  for (const Node* node : work_.graph.nodes()) {
    const auto known = [&](const Value& operand) { return is_known(operand.node()); };
    if (owner_.contains(node) || !std::ranges::all_of(node->inputs, known)) {
      known_.erase(node);
      weights_.erase(node);
    }
  }
}

/// What is in memory of a value: views, and what belongs to readers, are looked through where one operand is left.
Value WorkBuilder::base_of(Value value) const {
  while (is_free_view(value.node()) && !is_known(value.node()) && !owner_.contains(&value.node())) {
    value = value.node().inputs[0];
  }
  return value;
}

Extent WorkBuilder::bytes_seen(const Value& value) {
  const Node& node = value.node();
  return node.as<Reshape>() != nullptr || node.as<Broadcast>() != nullptr ? bytes_seen(node.inputs[0])
                                                                          : bytes_of(value.shape());
}

std::string WorkBuilder::unique(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !names_.insert(name).second; ++i) {
    name = wanted + "_" + std::to_string(i);
  }
  return name;
}

void WorkBuilder::add_tensor(const Value& value, int producer) {
  WorkTensor tensor;
  tensor.shape = value.shape();
  tensor.bytes = bytes_of(value.shape());
  tensor.producer = producer;
  tensor.weight = weights_.contains(&value.node());
  if (in_place_.contains(&value.node())) {
    tensor.in_place = true;
    tensor.kept = tensor.bytes - bytes_of(value.node().inputs[1].shape());
  }
  if (is_known(value.node())) {
    tensor.bytes = bytes_seen(value);
  }
  if (const auto* input = value.node().as<Input>()) {
    tensor.name = input->name;
  }
  for (const Output& output : work_.graph.outputs()) {
    if (producer >= 0 && tensor.name.empty() && output.value == value) {
      tensor.name = output.name;
    }
  }
  if (tensor.name.empty()) {
    const std::string owner = producer >= 0 ? work_.operators[static_cast<size_t>(producer)].name : "weight";
    tensor.name = unique(producer >= 0 ? owner + ".out" : owner);
  }
  tensors_.emplace(value, static_cast<int>(work_.tensors.size()));
  work_.tensors.push_back(std::move(tensor));
  work_.values.push_back(value);
}

int WorkBuilder::tensor_of(const Value& base) {
  if (!tensors_.contains(base)) {
    const auto owner = owner_.find(&base.node());
    add_tensor(base, owner == owner_.end() ? -1 : owner->second);
  }
  return tensors_.at(base);
}

void WorkBuilder::describe(int index, const Opened* opened) {
  Operator& op = work_.operators[static_cast<size_t>(index)];
  const std::vector<const Node*>& nodes = work_.nodes[static_cast<size_t>(index)];
  const auto rank = [](const Node* node) {  // what an operator of several nodes is called after
    const Role role = role_of(*node);
    return is_product(*node)                                                     ? 0
           : role == Role::other || role == Role::gather || role == Role::window ? 1
           : role == Role::row                                                   ? 2
                                                                                 : 3;
  };
  const Node* main = *std::ranges::min_element(nodes, {}, rank);
  op.kind = kind_of(*main);
  if (opened != nullptr && is_product(*main)) {
    const auto origin = opened->origin.find(main);
    op.kind = origin != opened->origin.end() && origin->second.products == 1 ? origin->second.composite : op.kind;
  } else if (nodes.size() > 2 && main->as<Reduce>() != nullptr) {
    op.kind = "rows";
  }
  op.name = unique(op.kind + std::to_string(++counts_[op.kind]));
  op.place = main->place;
  op.role = role_of(*main);
  op.structure = structure_of(*main);
  op.parallelism = parallelism_of(*main, op.role);
  op.least_bytes = least_bytes_of(*main, op.role);
  for (const Node* node : nodes) {
    op.macs += macs_of(*node);
    op.flops += flops_of(*node);
  }
}

void WorkBuilder::add_reads(int index) {
  const auto own = [&](const Node& node) {
    const auto at = owner_.find(&node);
    return at != owner_.end() && at->second == index;
  };
  Operator& op = work_.operators[static_cast<size_t>(index)];
  const auto add = [&](const Value& base, const Extent& bytes) {
    const int tensor = tensor_of(base);
    const auto at = std::ranges::find(op.reads, tensor, &Read::tensor);
    if (at == op.reads.end()) {
      op.reads.push_back({.tensor = tensor, .bytes = bytes});
    } else {
      at->bytes = min(at->bytes + bytes, work_.tensors[static_cast<size_t>(tensor)].bytes);
    }
  };
  const auto member = [&](const Node& node) {  // also of what another operator computes too
    return !members_.empty() && members_[static_cast<size_t>(index)].contains(&node);
  };
  const auto in_memory = [&](const Node& node) {
    return !own(node) && !member(node) &&
           (owner_.contains(&node) || node.as<Input>() != nullptr || weights_.contains(&node));
  };
  std::vector<Value> open;
  std::unordered_set<Value> seen;
  for (const Node* node : work_.nodes[static_cast<size_t>(index)]) {
    // What is written to in place, and what elements are picked of, is not read as a whole.
    const bool in_place = in_place_.contains(node);
    const bool partly = (in_place || node->as<Gather>() != nullptr) && in_memory(base_of(node->inputs[0]).node());
    if (partly) {
      const Extent whole = min(bytes_seen(node->inputs[0]), bytes_of(base_of(node->inputs[0]).shape()));
      add(base_of(node->inputs[0]), in_place ? Extent(0) : min(whole, bytes_of(node->shapes[0])));
    }
    open.insert(open.end(), node->inputs.begin() + (partly ? 1 : 0), node->inputs.end());
  }
  while (!open.empty()) {
    const Value value = open.back();
    open.pop_back();
    const Value base = base_of(value);
    const Node& node = base.node();
    if (!seen.insert(value).second || own(node) || (is_known(node) && !weights_.contains(&node))) {
      continue;
    }
    if (in_memory(node)) {
      add(base, is_known(node) ? bytes_seen(base) : min(bytes_seen(value), bytes_of(base.shape())));
    } else {  // computed again by each reader, as the compiler does with what is cheap
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
  }
  std::ranges::sort(op.reads, {}, &Read::tensor);
}

/// State that an output gives back is updated step by step in one memory, which each step changes a piece of. Kernels
/// of the compiler write the whole array.
void WorkBuilder::find_state() {
  if (opened_ == nullptr) {
    return;
  }
  for (const Output& output : work_.graph.outputs()) {
    Value value = base_of(output.value);
    while (output.aliases >= 0 && value.node().as<Update>() != nullptr && owner_.contains(&value.node())) {
      in_place_.insert(&value.node());
      value = base_of(value.node().inputs[0]);
    }
  }
}

void WorkBuilder::mark_outputs() {
  for (const Output& output : work_.graph.outputs()) {
    const Value base = base_of(output.value);
    if (owner_.contains(&base.node())) {
      WorkTensor& tensor = work_.tensors[static_cast<size_t>(tensor_of(base))];
      tensor.output = true;
      tensor.in_place |= output.aliases >= 0;
    }
  }
}

WorkGraph WorkBuilder::finish() && {
  find_state();
  work_.operators.resize(work_.nodes.size());
  for (int i = 0; i < static_cast<int>(work_.operators.size()); ++i) {
    describe(i, opened_);
  }
  for (const Value& input : work_.graph.inputs()) {
    add_tensor(input, -1);
  }
  for (int i = 0; i < static_cast<int>(work_.operators.size()); ++i) {
    add_reads(i);
  }
  mark_outputs();
  for (int i = 0; i < static_cast<int>(work_.operators.size()); ++i) {
    for (const Read& read : work_.operators[static_cast<size_t>(i)].reads) {
      work_.tensors[static_cast<size_t>(read.tensor)].readers.push_back(i);
    }
  }
  for (int i = 0; i < static_cast<int>(work_.tensors.size()); ++i) {
    if (const int producer = work_.tensors[static_cast<size_t>(i)].producer; producer >= 0) {
      work_.operators[static_cast<size_t>(producer)].writes.push_back(i);
    }
  }
  for (Operator& op : work_.operators) {
    size_t activations = 0;
    for (const Read& read : op.reads) {
      activations += work_.tensors[static_cast<size_t>(read.tensor)].weight ? 0U : 1U;
    }
    op.structure = combine_hash(op.structure, activations);
    if (op.least_bytes == Extent(0)) {  // nothing less than all
      for (const Read& read : op.reads)
        op.least_bytes += read.bytes;
      for (const int tensor : op.writes)
        op.least_bytes += work_.tensors[static_cast<size_t>(tensor)].bytes;
    }
  }
  return std::move(work_);
}

}  // namespace tenon::partition
