#include "tensor/record/replay.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/fail.h"
#include "ir/node.h"
#include "tenon/realizations.h"
#include "tensor/record/cell.h"
#include "tensor/record/record.h"
#include "tensor/record/symbols.h"
#include "tensor/record/user_lines.h"

namespace tenon::tensors {
namespace {

struct Looks {
  bool are_refused = false;
  bool tried = false;
};
Looks& looks() {
  thread_local Looks state;
  return state;
}

int depth_of(std::span<const Tensor> operands) {
  int depth = 0;
  for (const Tensor& operand : operands) {
    depth = std::max(depth, Access::handle(operand).cell->depth);
  }
  return depth;
}

bool has_open_size(const Shape& shape) {
  return std::ranges::any_of(shape.axes(), [](const Axis& axis) { return !size_of(axis.extent()).has_value(); });
}

}  // namespace

WithoutElements::WithoutElements() : outer_(std::exchange(looks().are_refused, true)) { looks().tried = false; }
WithoutElements::~WithoutElements() { looks().are_refused = outer_; }
bool WithoutElements::has_looked() const { return looks().tried; }

void require_elements() {
  if (looks().are_refused) {
    looks().tried = true;
    fail("operands that stand for others have no elements");
  }
}

std::vector<Tensor> Replay::stand_ins(const std::vector<Shape>& shapes) {
  std::vector<Tensor> made;
  for (const Shape& shape : shapes) {
    made.push_back(new_tensor(input("operand", shape), false, 0));
  }
  return made;
}

/// Walks from results to stand-ins.
class Replay::Builder {
 public:
  explicit Builder(std::span<const Tensor> stand_ins) {
    for (size_t i = 0; i < stand_ins.size(); ++i) {
      operands_.emplace(&Access::handle(stand_ins[i]).value().node(), static_cast<int>(i));
    }
  }

  /// False where the value follows from elements, or is too far away.
  bool add(const Value& value, bool is_eager, Source& source) {
    if (!visit(value.node())) {
      return false;
    }
    source = source_of(value);
    mark(source, is_eager);
    return true;
  }

  std::vector<Step> steps;
  bool names_lines = false;

 private:
  enum class Kind : uint8_t { constant, computed };

  /// What the node is, operands before users.
  bool visit(const Node& root) {
    std::vector<std::pair<const Node*, size_t>> stack{{&root, 0}};
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (operands_.contains(node) || kinds_.contains(node)) {
        stack.pop_back();
      } else if (next < node->inputs.size()) {
        const Node* const in = &node->inputs[next++].node();
        stack.emplace_back(in, 0);
      } else if (node->as<Input>() != nullptr || node->as<Barrier>() != nullptr || !finish(*node)) {
        return false;
      }
    }
    return true;
  }

  bool finish(const Node& node) {
    const bool is_computed = std::ranges::any_of(node.inputs, [&](const Value& in) {
      const auto kind = kinds_.find(&in.node());
      return kind == kinds_.end() || kind->second >= 0;
    });
    if (!is_computed) {
      kinds_.emplace(&node, -1);
      return true;
    }
    if (steps.size() == kMostSteps) {
      return false;
    }
    Step step{.made = NodePattern(node), .inputs = {}};
    for (const Value& in : node.inputs) {
      step.inputs.push_back(source_of(in));
    }
    kinds_.emplace(&node, static_cast<int>(steps.size()));
    names_lines |= !node.place.empty();
    steps.push_back(std::move(step));
    return true;
  }

  Source source_of(const Value& value) const {
    if (const auto operand = operands_.find(&value.node()); operand != operands_.end()) {
      return {.operand = operand->second};
    }
    const int step = kinds_.at(&value.node());
    return step < 0 ? Source{.constant = value} : Source{.step = step, .output = value.output()};
  }

  void mark(const Source& source, bool is_eager) {
    if (!is_eager || source.step < 0 || steps[static_cast<size_t>(source.step)].is_eager) {
      return;
    }
    Step& step = steps[static_cast<size_t>(source.step)];
    step.is_eager = true;
    for (const Source& in : step.inputs) {
      mark(in, true);
    }
  }

  std::unordered_map<const Node*, int> operands_;
  std::unordered_map<const Node*, int> kinds_;  // the step that computes it; -1 for a constant
};

std::optional<Replay> Replay::between(std::span<const Tensor> stand_ins, std::span<const Tensor> results,
                                      size_t eager) {
  Builder builder(stand_ins);
  Replay replay;
  for (size_t i = 0; i < results.size(); ++i) {
    Handle& handle = Access::handle(results[i]);
    Result result{.value = {}, .depth = handle.cell->depth, .is_eager = i < eager};
    if (is_tracked(results[i]) || has_open_size(handle.value().shape()) ||
        !builder.add(handle.value(), result.is_eager, result.value)) {
      return {};
    }
    replay.results_.push_back(std::move(result));
  }
  replay.steps_ = std::move(builder.steps);
  replay.names_lines_ = builder.names_lines;
  return replay;
}

std::vector<Tensor> Replay::upon(std::span<const Tensor> operands, bool eager) const {
  int depth = depth_of(operands);
  if (depth + 1 > kMostPending) {
    limit_pending(operands);
    depth = depth_of(operands);
  }
  const RecordingLine line;
  std::vector<Value> made(steps_.size());
  const auto value_of = [&](const Source& source) -> Value {
    if (source.step >= 0) {
      const Value& step = made[static_cast<size_t>(source.step)];
      return source.output == 0 ? step : Value(&step.node(), source.output);
    }
    return source.operand >= 0 ? Access::handle(operands[static_cast<size_t>(source.operand)]).value()
                               : source.constant;
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (eager && !step.is_eager) {
      continue;
    }
    std::vector<Value> inputs;
    inputs.reserve(step.inputs.size());
    for (const Source& source : step.inputs) {
      inputs.push_back(value_of(source));
    }
    made[i] = step.made.intern(std::move(inputs));
  }
  std::vector<Tensor> results;
  for (const Result& result : results_) {
    if (result.is_eager == eager) {
      results.push_back(new_tensor(value_of(result.value), false, depth + result.depth));
    }
  }
  return results;
}

}  // namespace tenon::tensors
