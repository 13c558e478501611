// Positions: where a mask is true, along an axis whose size only data decide.
#include "base/refused.h"
#include "ir/data_axes.h"
#include "ops/make.h"
#include "tenon/selection.h"

namespace tenon {

Inferred infer(const Positions& op, Operands in) {
  if (in[0].dtype() != Dtype::boolean) {
    refuse("needs a bool operand, not {}", name(in[0].dtype()));
  }
  if (!op.axis.is_anonymous() && op.axis.extent().as_name() != op.axis.name()) {
    refuse("the axis `{}` must be a name of its own: data decide its size", op.axis.to_string());
  }
  const Axis axis = op.axis.is_anonymous() ? Axis(in[0].shape().element_count()) : op.axis;
  return {{Shape(Dtype::i64, {axis}), Shape(Dtype::i64, {})}};
}

Found positions(const Value& mask, std::string_view axis) {
  const Axis named = Extent::name(axis.empty() ? fresh_data_axis("positions") : std::string(axis));
  const std::vector<Value> found = make_all(Positions{named}, {mask});
  if (DataAxisScope* const scope = build_context().data_axes) {
    scope->made.push_back(found[0]);
  }
  return {.positions = found[0], .count = found[1]};
}

void refuse_data_axes(const Graph& body) {
  for (const Node* node : body.nodes()) {
    if (const std::string axis = bound_axis(*node); !axis.empty()) {
      Error error(
          fmt::format("data decide the size of axis `{}`, which the body of a conditional, loop or composite cannot "
                      "have (`{}`)",
                      axis, body.name()));
      if (!node->place.empty()) {
        error.note(fmt::format("at node \"{}\"", node->place));
      }
      throw Error(std::move(error));
    }
  }
}

}  // namespace tenon
