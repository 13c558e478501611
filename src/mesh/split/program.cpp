#include "mesh/split/program.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/fail.h"
#include "ir/unify_names.h"
#include "ir/walk.h"
#include "mesh/split/ways.h"
#include "ops/make.h"

namespace tenon::mesh {
namespace {

/// A value that something behind a segment needs.
struct Given {
  size_t place = 0;
  Value value;
  size_t depth = 0;
};

/// One segment while it is made: its own values for those of the rank's graph.
struct Draft {
  std::unordered_map<Value, Value> known;
  std::vector<Value> inputs;
  std::vector<size_t> takes;
  std::vector<Given> gives;
};

class Cutter {
 public:
  explicit Cutter(const ShardedGraph& sharded) : sharded_(sharded) {}

  RankProgram run() {
    for (const Value& input : sharded_.inputs) {
      number(input);
      levels_[&input.node()] = 0;
    }
    find_levels();
    sink();
    const UnifyNames lenient;
    for (const Node* node : order_) {
      if (node->as<Input>() == nullptr && !is_made_anew(*node)) build(*node, level(*node));
    }
    for (size_t i = 0; i < sharded_.collectives.size(); ++i) {
      const Collective& each = sharded_.collectives[i];
      const size_t at = level(each.source.node());
      plan_.sources.push_back(give(each.source, at));
      plan_.results.push_back(number(each.result));
      by_level(each.level).push_back(i);
    }
    for (const Output& output : sharded_.outputs) {
      plan_.outputs.push_back(give(output.value, level(output.value.node())));
    }
    finish();
    describe_whole();
    return std::move(program_);
  }

 private:
  /// Leaves that cost nothing to have in every segment that uses them.
  static bool is_made_anew(const Node& node) { return node.as<Constant>() != nullptr || node.as<Iota>() != nullptr; }

  size_t number(const Value& value) {
    const auto [found, is_new] = numbers_.emplace(value, plan_.value_count);
    plan_.value_count += is_new ? 1 : 0;
    return found->second;
  }

  size_t level(const Node& node) const { return levels_.at(&node); }

  /// How many collectives are on the way to each node, here. Collectives come each before those that need its result.
  void find_levels() {
    const auto visit = [&](const Value& root) {
      for (const Node* node : topological_order(std::span(&root, 1))) {
        if (levels_.contains(node)) continue;
        size_t most = 0;
        size_t depth = 0;
        for (const Value& operand : node->inputs) {
          most = std::max(most, level(operand.node()));
          depth = std::max(depth, depths_[&operand.node()] + 1);
        }
        levels_.emplace(node, most);
        depths_[node] = depth;
        order_.push_back(node);
      }
    };
    for (const Collective& each : sharded_.collectives) {
      visit(each.source);
      levels_[&each.result.node()] = each.level + 1;
      depths_[&each.result.node()] = depths_[&each.source.node()] + 1;
    }
    for (const Output& output : sharded_.outputs) {
      visit(output.value);
    }
    // A rank may have less on the way than others, such as zeros for a term that the first rank has.
    size_t most = 0;
    for (const auto& [node, at] : levels_) {
      most = std::max(most, at);
    }
    drafts_.resize(most + 1);
    collectives_.resize(most + 1);
  }

  /// What later segments alone need, and is cheap to make of what they can have anyway, is made there: half of an
  /// optimiser's step does not need the gradient, and would cross from one segment to the next.
  void sink() {
    std::unordered_map<const Node*, size_t> first_use;
    const auto use = [&](const Value& value, size_t at) {
      const auto [found, is_new] = first_use.emplace(&value.node(), at);
      if (!is_new) found->second = std::min(found->second, at);
    };
    for (const Collective& each : sharded_.collectives) {
      use(each.source, each.level);
    }
    for (const Output& output : sharded_.outputs) {
      use(output.value, std::max(sharded_.tail_level, level(output.value.node())));
    }
    for (const Node* node : order_) {
      if (is_elementwise(*node) &&
          std::ranges::all_of(node->inputs, [&](const Value& operand) { return is_at_hand(operand); })) {
        at_hand_.insert(node);
      }
    }
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
      size_t& at = levels_.at(*node);
      const auto used = first_use.find(*node);
      if (used != first_use.end() && used->second > at && is_cheap(**node)) at = used->second;
      for (const Value& operand : (*node)->inputs) {
        use(operand, at);
      }
    }
  }

  /// A value that any segment can have without anything large from another one.
  bool is_at_hand(const Value& value) const {
    const Node& node = value.node();
    return node.as<Input>() != nullptr || is_made_anew(node) || value.rank() == 0 || at_hand_.contains(&node);
  }

  /// No more bytes cross than its result has.
  bool is_cheap(const Node& node) const {
    return is_elementwise(node) &&
           std::ranges::count_if(node.inputs, [&](const Value& operand) { return !is_at_hand(operand); }) <= 1;
  }

  std::vector<size_t>& by_level(size_t at) { return collectives_[at]; }

  void build(const Node& node, size_t at) {
    std::vector<Value> operands;
    for (const Value& operand : node.inputs) {
      operands.push_back(fetch(operand, at));
    }
    const Place place(node.place);
    const std::vector<Value> made = make_all(node.op, std::move(operands));
    for (size_t i = 0; i < made.size(); ++i) {
      drafts_[at].known.emplace(Value(&node, static_cast<int>(i)), made[i]);
    }
  }

  /// The value in a segment: made there, or taken from before.
  Value fetch(const Value& value, size_t at) {
    Draft& draft = drafts_[at];
    if (const auto found = draft.known.find(value); found != draft.known.end()) return found->second;
    const Node& node = value.node();
    if (is_made_anew(node)) {
      build(node, at);
      return draft.known.at(value);
    }
    if (node.as<Input>() == nullptr) give(value, level(node));
    const size_t place = number(value);
    const bool is_own = node.as<Input>() != nullptr && place < sharded_.inputs.size();
    Value taken = input(is_own ? std::string(value.name()) : fmt::format("value.{}", place), value.shape());
    draft.inputs.push_back(taken);
    draft.takes.push_back(place);
    draft.known.emplace(value, taken);
    return taken;
  }

  /// The number of a value that something behind the segment needs.
  size_t give(const Value& value, size_t at) {
    const size_t place = number(value);
    if (value.node().as<Input>() != nullptr) return place;  // it is there already
    Draft& draft = drafts_[at];
    if (std::ranges::find(draft.gives, place, &Given::place) == draft.gives.end()) {
      draft.gives.push_back({.place = place, .value = fetch(value, at), .depth = depths_.at(&value.node())});
    }
    return place;
  }

  void finish() {
    for (size_t at = 0; at < drafts_.size(); ++at) {
      Draft& draft = drafts_[at];
      SegmentPlan segment;
      segment.takes = draft.takes;
      segment.collectives = collectives_[at];
      // What is there first comes first: steps follow the order of outputs, and a collective can start.
      std::ranges::stable_sort(draft.gives, {}, &Given::depth);
      std::vector<Output> outputs;
      for (const Given& each : draft.gives) {
        segment.gives.push_back(each.place);
        outputs.push_back({.name = fmt::format("value.{}.out", each.place), .value = each.value});
      }
      program_.graphs.push_back(
          outputs.empty() ? Graph() : Graph(fmt::format("{}.{}", sharded_.whole.name(), at), draft.inputs, outputs));
      plan_.segments.push_back(std::move(segment));
    }
  }

  void describe_whole() {
    plan_.mesh = sharded_.mesh;
    plan_.coordinates = sharded_.coordinates;
    plan_.whole = signature_of(sharded_.whole);
    plan_.constraints = sharded_.whole.constraints();
    plan_.input_layouts = sharded_.input_layouts;
    plan_.output_layouts = sharded_.output_layouts;
    plan_.collectives = sharded_.collectives;
    for (Collective& each : plan_.collectives) {
      each.source = each.result = Value();
    }
    plan_.fingerprint = fingerprint(sharded_);
  }

  const ShardedGraph& sharded_;
  RankProgram program_;
  RankPlan& plan_ = program_.plan;
  std::unordered_map<const Node*, size_t> levels_;
  std::unordered_map<const Node*, size_t> depths_;  // the longest way from an input, in nodes
  std::vector<const Node*> order_;
  std::unordered_set<const Node*> at_hand_;  // functions of inputs, element by element
  std::unordered_map<Value, size_t> numbers_;
  std::vector<Draft> drafts_;
  std::vector<std::vector<size_t>> collectives_;
};

}  // namespace

Signature signature_of(const Graph& graph) {
  Signature signature{.name = graph.name(), .inputs = {}, .outputs = {}};
  for (const Value& input : graph.inputs()) {
    signature.inputs.push_back({.name = std::string(input.name()), .shape = input.shape()});
  }
  for (const Output& output : graph.outputs()) {
    signature.outputs.push_back({.name = output.name, .shape = output.value.shape()});
  }
  return signature;
}

RankProgram cut_into_segments(const ShardedGraph& sharded) { return Cutter(sharded).run(); }

}  // namespace tenon::mesh
