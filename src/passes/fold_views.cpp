#include "passes/fold_views.h"

#include <algorithm>
#include <unordered_map>

#include "ops/make.h"
#include "passes/rewriting/merge_views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/uniform.h"
#include "passes/rewriting/users.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

constexpr int kFarthest = 64;  // values that one view may move to

/// A value with a view moved into it, and how many views that saved.
struct Moved {
  Value value;
  int saved = 0;
};

/// Moves views of a graph that is being rebuilt.
class Mover {
 public:
  explicit Mover(const Graph& graph) : users_(graph) {}

  std::optional<std::vector<Value>> operator()(const Node& node, const std::vector<Value>& operands) {
    std::vector<Value> made = rebuilt(node, operands);
    if (users_.is_sole(node)) {
      read_once_[made[0]] = true;
    }
    return made;
  }

 private:
  std::vector<Value> rebuilt(const Node& node, const std::vector<Value>& operands) {
    std::optional<Value> found;
    if (node.as<Map>() != nullptr) {
      found = repeated_later(node, operands);
    } else if (const std::optional<View> view = as_view(node.op)) {
      found = merged_view(*view, operands[0]);
      if (!found && (node.as<Transpose>() != nullptr || node.as<Reshape>() != nullptr)) {
        int budget = kFarthest;
        const std::optional<Moved> moved = pushed(*view, operands[0], budget);
        // The view itself is one that is saved.
        found = moved && moved->saved + 1 > 0 && moved->value.node().as<Map>() != nullptr ? std::optional(moved->value)
                                                                                          : std::nullopt;
      }
    }
    if (found) {
      found = relabelled(*found, node.shapes[0]);
    }
    return found ? std::vector{*found} : make_all(node.op, operands);
  }

  /// `view` of x, as far inside x as it goes.
  std::optional<Moved> pushed(const View& view, const Value& x, int& budget) {
    if (budget-- == 0) {
      return std::nullopt;
    }
    if (const std::optional<Value> number = uniform_constant(x)) {
      return Moved{.value = broadcast(*number, make(as_op(view), {x}).shape().axes(), {})};
    }
    if (const std::optional<Value> merged = merged_view(view, x)) {
      const bool vanished = *merged == x || !as_view(merged->node().op);
      return Moved{.value = *merged, .saved = vanished ? 1 : 0};
    }
    const auto* map = x.node().as<Map>();
    if (map == nullptr || !read_once_.contains(x) || !x.node().constraints.empty()) {
      return Moved{.value = make(as_op(view), {x}), .saved = -1};
    }
    Moved result;
    std::vector<Value> operands;
    for (const Value& operand : x.node().inputs) {
      const std::optional<Moved> moved = pushed(view, operand, budget);
      if (!moved || !make(as_op(view), {operand}).node().constraints.empty()) {
        return std::nullopt;
      }
      operands.push_back(moved->value);
      result.saved += moved->saved;
    }
    result.value = make(*map, operands);
    return result;
  }

  /// A map whose operands repeat in the same way repeats its result instead.
  static std::optional<Value> repeated_later(const Node& node, const std::vector<Value>& operands) {
    const Broadcast* common = nullptr;
    std::vector<std::optional<Value>> numbers;
    for (const Value& operand : operands) {
      const auto* repeat = operand.node().as<Broadcast>();
      numbers.push_back(uniform_constant(operand));
      if (numbers.back()) {
        continue;
      }
      const bool same = repeat != nullptr && operand.node().constraints.empty() &&
                        (common == nullptr || (repeat->axes == common->axes && repeat->to == common->to));
      if (!same) {
        return std::nullopt;
      }
      common = repeat;
    }
    if (common == nullptr || !node.constraints.empty()) {
      return std::nullopt;
    }
    std::vector<Value> sources;
    const Shape* shape = nullptr;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!numbers[i]) {
        const Shape& source = operands[i].node().inputs[0].shape();
        if (shape != nullptr && shape->axes() != source.axes()) {
          return std::nullopt;
        }
        shape = &source;
      }
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      sources.push_back(numbers[i] ? broadcast(*numbers[i], shape->axes(), {}) : operands[i].node().inputs[0]);
    }
    return broadcast(make(node.op, sources), common->to, common->axes);
  }

  Users users_;
  std::unordered_map<Value, bool> read_once_;  // of the new graph's values
};

}  // namespace

Graph fold_views(Graph graph) { return rewrite(graph, Mover(graph)); }

}  // namespace tenon::passes
