// Differentiating what carries bodies: calls, conditionals and loops.
#include <algorithm>

#include "base/fail.h"
#include "ir/walk.h"
#include "ops/make.h"
#include "passes/autodiff/autodiff.h"
#include "passes/rewriting/rewrite.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

using Flags = std::vector<bool>;

std::vector<Value> values_of(const Graph& graph) {
  std::vector<Value> values;
  for (const Output& out : graph.outputs()) {
    values.push_back(out.value);
  }
  return values;
}

FreshNames names_of_inputs(const Graph& graph) {
  FreshNames names;
  std::ranges::for_each(graph.inputs(), [&](const Value& in) { names.take(name_of(in)); });
  return names;
}

Flags present(const std::vector<Value>& values) {
  Flags flags;
  std::ranges::for_each(values, [&](const Value& value) { flags.push_back(static_cast<bool>(value)); });
  return flags;
}

/// The values whose flag is set, in order.
std::vector<Value> chosen(const std::vector<Value>& values, const Flags& flags) {
  std::vector<Value> result;
  for (size_t i = 0; i < values.size(); ++i) {
    if (flags[i]) {
      result.push_back(values[i]);
    }
  }
  return result;
}

/// One gradient for each operand that was wanted, at its place.
Gradients spread(const std::vector<Value>& found, const Flags& wanted) {
  Gradients result(wanted.size());
  size_t next = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) {
      result[i] = found[next++];
    }
  }
  return result;
}

/// The gradient of a body as a graph: takes what the body takes, then the gradients of its `given` outputs; gives the
/// gradients of its `wanted` inputs, zeros where nothing flows. `output_shapes` are those of the outputs as the caller
/// sees them: labels may differ.
Graph body_gradient(const Graph& body, const std::vector<Shape>& output_shapes, const Flags& given,
                    const Flags& wanted) {
  FreshNames names = names_of_inputs(body);
  std::vector<Value> inputs = body.inputs();
  const std::vector<Value> xs = chosen(inputs, wanted);
  const std::vector<Value> ys = chosen(values_of(body), given);
  std::vector<Value> y_gradients;
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    if (given[i]) {
      y_gradients.push_back(input(names.make("d_" + body.outputs()[i].name), output_shapes[i]));
    }
  }
  inputs.insert(inputs.end(), y_gradients.begin(), y_gradients.end());
  const Gradients found = pull_back(ys, y_gradients, xs);
  std::vector<Output> outputs;
  for (size_t i = 0; i < xs.size(); ++i) {
    outputs.push_back({.name = "d_" + name_of(xs[i]), .value = found[i] ? found[i] : full(xs[i].shape(), 0)});
  }
  return {body.name() + "_gradient", std::move(inputs), std::move(outputs), body.relations()};
}

/// Which inputs the values need.
Flags needed(const std::vector<Value>& inputs, const std::vector<Value>& values) {
  std::unordered_map<const Node*, bool> seen;
  for (const Node* node : topological_order(values)) {
    seen.emplace(node, true);
  }
  Flags flags;
  std::ranges::for_each(inputs, [&](const Value& in) { flags.push_back(seen.contains(&in.node())); });
  return flags;
}

}  // namespace

Gradients gradient(const Call& op, const Node& node, const std::vector<Value>& outputs, const Flags& wanted) {
  const Flags given = present(outputs);
  const auto make = [&]() -> GradientBodies::Made {
    const Graph whole = body_gradient(op.body, node.shapes, given, wanted);
    // What the gradient does not look at need not be kept for it.
    const Flags used = needed(whole.inputs(), values_of(whole));
    return {.of = op.body,
            .shapes = node.shapes,
            .given = given,
            .wanted = wanted,
            .body = {whole.name(), chosen(whole.inputs(), used), whole.outputs(), whole.relations()},
            .used = used};
  };
  GradientBodies* const known = GradientBodies::current();
  const GradientBodies::Made made =
      known != nullptr ? known->find_or_make(op.body, node.shapes, given, wanted, make) : make();
  std::vector<Value> operands = node.inputs;
  std::ranges::copy(chosen(outputs, given), std::back_inserter(operands));
  operands = chosen(operands, made.used);
  if (op.body.name() == kRecomputed) {
    operands = barrier(operands);  // else what the gradient computes again would be found to be there already
  }
  return spread(call(made.body, operands), wanted);
}

Gradients gradient(const If& op, const Node& node, const std::vector<Value>& outputs, const Flags& wanted) {
  const Flags given = present(outputs);
  const Flags wanted_by_bodies(wanted.begin() + 1, wanted.end());  // the condition is not an operand of theirs
  std::vector<Value> operands = node.inputs;
  std::ranges::copy(chosen(outputs, given), std::back_inserter(operands));
  const std::vector<Value> found =
      make_all(If{.then_body = body_gradient(op.then_body, node.shapes, given, wanted_by_bodies),
                  .else_body = body_gradient(op.else_body, node.shapes, given, wanted_by_bodies)},
               operands);
  return spread(found, wanted);
}

namespace {

/// The parts of a loop's operands and of its body's inputs, as the kind lays them out.
class LoopGradient {
 public:
  LoopGradient(const Loop& op, const Node& node, const std::vector<Value>& outputs, const Flags& wanted)
      : op_(op),
        node_(node),
        outputs_(outputs),
        wanted_(wanted),
        carried_(static_cast<size_t>(op.carried)),
        scanned_(static_cast<size_t>(op.scanned)) {}

  Gradients run() {
    find_active();
    make_step();
    return run_backwards();
  }

 private:
  bool is_carried(size_t operand) const { return operand < carried_; }
  bool is_scanned(size_t operand) const { return operand >= carried_ && operand < carried_ + scanned_; }
  /// The body's input for an operand: the iteration comes first.
  const Value& body_input(size_t operand) const { return op_.body.inputs()[operand + 1]; }

  /// Operands whose gradient is needed: those wanted, and what the body carries on from them.
  void find_active() {
    active_ = wanted_;
    const std::vector<const Node*> order = topological_order(values_of(op_.body));
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<Value> xs;
      for (size_t i = 0; i < active_.size(); ++i) {
        if (active_[i]) {
          xs.push_back(body_input(i));
        }
      }
      const Reach reach(order, xs);
      for (size_t i = 0; i < carried_; ++i) {
        if (!active_[i] && reach.contains(op_.body.outputs()[i].value)) {
          active_[i] = true;
          changed = true;
        }
      }
    }
  }

  /// One step back: from the gradients of what a trip gave to the gradients of what it took.
  void make_step() {
    given_.assign(active_.begin(), active_.begin() + static_cast<std::ptrdiff_t>(carried_));
    for (size_t i = carried_; i < outputs_.size(); ++i) {
      given_.push_back(static_cast<bool>(outputs_[i]));
    }
    Flags wanted{false};
    wanted.insert(wanted.end(), active_.begin(), active_.end());
    std::vector<Shape> shapes;
    for (const Output& out : op_.body.outputs()) {
      shapes.push_back(out.value.shape());
    }
    step_ = body_gradient(op_.body, shapes, given_, wanted);

    FreshNames names = names_of_inputs(step_);
    trip_ = input(names.make("trip"), Shape(Dtype::i64, {}));
    std::vector<Value> operands = step_.inputs();
    operands[0] = extent_value(op_.trips - 1) - trip_;
    const std::vector<Value> found = spread(inline_graph(step_, operands), active_);
    for (size_t i = 0; i < found.size(); ++i) {
      if (!active_[i]) {
        continue;
      }
      if (is_carried(i)) {
        carry_.push_back({.operand = i, .in = y_gradient(i), .out = conform(found[i], y_gradient(i).shape())});
      } else if (is_scanned(i)) {
        stacked_.push_back({.operand = i, .in = {}, .out = found[i]});
      } else {
        // Sums over all trips are kept in the compute dtype.
        const Dtype dtype = compute_dtype(found[i].dtype());
        const Value sum = input(names.make("sum_" + name_of(body_input(i))), found[i].shape().with_dtype(dtype));
        carry_.push_back({.operand = i, .in = sum, .out = sum + cast(found[i], dtype)});
      }
    }
  }

  Gradients run_backwards() {
    std::vector<Value> inputs{trip_};
    std::vector<Value> operands;
    std::vector<Output> outputs;
    const auto take = [&](const Value& in, const Value& operand) {
      inputs.push_back(in);
      operands.push_back(operand);
    };
    std::vector<Value> results;
    for (const Flow& flow : carry_) {
      const Value start = is_carried(flow.operand) ? outputs_[flow.operand] : Value();
      take(flow.in, start ? conform(start, flow.in.shape()) : full(flow.in.shape(), 0));
      outputs.push_back({.name = "next_" + name_of(flow.in), .value = flow.out});
      results.push_back(flow.out);
    }
    for (const Flow& flow : stacked_) {
      outputs.push_back({.name = "d_" + name_of(body_input(flow.operand)), .value = flow.out});
      results.push_back(flow.out);
    }
    const Flags used = needed(step_.inputs(), results);
    const std::vector<Value> history = carried_values(used);
    int scanned = 0;
    const auto take_scanned = [&](const Value& in, const Value& operand) {
      take(in, flip(operand, {0}));
      ++scanned;
    };
    for (size_t i = 0; i < carried_ + scanned_; ++i) {
      if (used[i + 1]) {
        take_scanned(body_input(i), is_carried(i) ? history[i] : node_.inputs[i]);
      }
    }
    for (size_t i = carried_; i < outputs_.size(); ++i) {
      if (given_[i] && used[y_gradient_place(i)]) {
        take_scanned(y_gradient(i), outputs_[i]);
      }
    }
    for (size_t i = carried_ + scanned_; i < node_.inputs.size(); ++i) {
      if (used[i + 1]) {
        take(body_input(i), node_.inputs[i]);
      }
    }
    const Graph body(step_.name(), inputs, outputs, step_.relations());
    const std::vector<Value> found =
        make_all(Loop{.body = body, .trips = op_.trips, .carried = static_cast<int>(carry_.size()), .scanned = scanned},
                 operands);
    Gradients result(node_.inputs.size());
    for (size_t i = 0; i < carry_.size(); ++i) {
      const size_t operand = carry_[i].operand;
      result[operand] = cast(found[i], node_.inputs[operand].dtype());
    }
    for (size_t i = 0; i < stacked_.size(); ++i) {
      result[stacked_[i].operand] = flip(found[carry_.size() + i], {0});
    }
    return result;
  }

  /// The carried values as each trip found them, stacked; empty for those that the step back does not look at.
  std::vector<Value> carried_values(const Flags& used) const {
    FreshNames names;
    std::vector<Output> outputs = op_.body.outputs();  // all of them, so that merge_loops() joins this and the node
    std::ranges::for_each(outputs, [&](const Output& out) { names.take(out.name); });
    std::vector<size_t> kept;
    for (size_t i = 0; i < carried_; ++i) {
      if (used[i + 1]) {
        kept.push_back(i);
        outputs.push_back({.name = names.make("old_" + outputs[i].name), .value = body_input(i)});
      }
    }
    std::vector<Value> history(carried_);
    if (kept.empty()) {
      return history;
    }
    Loop again = op_;
    again.body = Graph(op_.body.name(), op_.body.inputs(), outputs, op_.body.relations());
    const std::vector<Value> values = make_all(again, node_.inputs);
    for (size_t i = 0; i < kept.size(); ++i) {
      history[kept[i]] = values[op_.body.outputs().size() + i];
    }
    return history;
  }

  /// Where among the step's inputs the gradient of body output `i` is.
  size_t y_gradient_place(size_t i) const {
    return op_.body.inputs().size() +
           static_cast<size_t>(std::count(given_.begin(), given_.begin() + static_cast<std::ptrdiff_t>(i), true));
  }
  const Value& y_gradient(size_t i) const { return step_.inputs()[y_gradient_place(i)]; }

  /// What the loop over the trips in reverse carries or stacks for one operand.
  struct Flow {
    size_t operand = 0;
    Value in;
    Value out;
  };

  const Loop& op_;
  const Node& node_;
  const std::vector<Value>& outputs_;
  const Flags& wanted_;
  size_t carried_;
  size_t scanned_;
  Flags active_;  // by operand
  Flags given_;   // by body output: a gradient of it flows into the step back
  Graph step_;
  Value trip_;
  std::vector<Flow> carry_;
  std::vector<Flow> stacked_;
};

}  // namespace

Gradients gradient(const Loop& op, const Node& node, const std::vector<Value>& outputs, const Flags& wanted) {
  if (op.conditional) {
    fail("a loop that ends by a condition has no known number of trips to go back over");
  }
  return LoopGradient(op, node, outputs, wanted).run();
}

}  // namespace tenon::passes
