// Map: the derivative that the row of the scalar table gives, primitive by primitive as maps of the same names.
#include <unordered_map>

#include "base/refused.h"
#include "ops/gradient/gradient.h"
#include "ops/make.h"
#include "ops/scalar/scalar_table.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// Turns scalar expressions over a node's operands, result and gradient into values of the node's axes.
class ExprBuilder {
 public:
  ExprBuilder(std::vector<Value> arguments, std::vector<Axis> axes)
      : arguments_(std::move(arguments)), axes_(std::move(axes)) {}

  /// Depth is bounded by the rows of the scalar table, so recursion is fine here.
  Value build(const Expr& expr) {
    if (const auto found = built_.find(expr.get()); found != built_.end()) {
      return found->second;
    }
    Value value = build_new(*expr);
    kept_.push_back(expr);
    built_.emplace(expr.get(), value);
    return value;
  }

 private:
  Value build_new(const ScalarNode& node) {
    if (node.prim == Prim::argument) {
      return arguments_.at(static_cast<size_t>(node.index));
    }
    if (node.prim == Prim::constant) {
      return full(Shape(node.dtype, axes_), node.literal);
    }
    std::vector<Value> operands;
    for (const Expr& operand : node.operands) {
      operands.push_back(build(operand));
    }
    return make(Map{.fn = &scalar_fn(name(node.prim)), .dtype = node.dtype}, std::move(operands));
  }

  std::vector<Value> arguments_;
  std::vector<Axis> axes_;
  std::vector<Expr> kept_;  // keys of built_ stay unique while their expressions live
  std::unordered_map<const ScalarNode*, Value> built_;
};

bool is_zero(const Expr& expr) { return expr->prim == Prim::constant && expr->literal == 0; }

}  // namespace

Gradients gradient(const Map& op, const Node& node, const std::vector<Value>& outputs) {
  const ScalarFn& fn = *op.fn;
  if (fn.gradient == nullptr) {
    refuse("{} has no derivative", fn.name);
  }
  // Half types are computed in f32, forwards and backwards.
  std::vector<Value> arguments = node.inputs;
  arguments.emplace_back(&node, 0);
  arguments.push_back(outputs[0]);
  std::vector<Expr> symbols;
  for (Value& argument : arguments) {
    argument = cast(argument, compute_dtype(argument.dtype()));
    symbols.push_back(expr::argument(static_cast<int>(symbols.size()), argument.dtype()));
  }
  const std::vector<Expr> operands(symbols.begin(), symbols.begin() + fn.arity);
  const std::vector<Expr> derivatives = fn.gradient(operands, symbols[operands.size()], symbols[operands.size() + 1]);

  ExprBuilder builder(std::move(arguments), node.shapes[0].axes());
  Gradients result;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool flows = derivatives[i] && !is_zero(derivatives[i]) && is_float(node.inputs[i].dtype());
    result.push_back(flows ? cast(builder.build(derivatives[i]), node.inputs[i].dtype()) : Value());
  }
  return result;
}

}  // namespace tenon
