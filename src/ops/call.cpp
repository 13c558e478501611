// Call: composites that carry their meaning as a body; and Barrier.
#include <algorithm>

#include "base/refused.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon {

namespace {

/// The same dtype and extents, whatever their axes are called.
bool same_sizes(const Shape& a, const Shape& b) {
  return a.dtype() == b.dtype() && std::ranges::equal(a.axes(), b.axes(), [](const Axis& x, const Axis& y) {
           return x.is_anonymous() == y.is_anonymous() && (x.is_anonymous() || x.extent() == y.extent());
         });
}

}  // namespace

Inferred infer(const Call& op, Operands in) {
  const auto& parameters = op.body.inputs();
  if (in.size() != parameters.size()) {
    refuse("`{}` takes {} operands, not {}", op.body.name(), parameters.size(), in.size());
  }
  for (size_t i = 0; i < in.size(); ++i) {
    // A body is made for the operands' symbolic shapes; names inside it are the caller's names.
    if (!same_sizes(in[i].shape(), parameters[i].shape())) {
      refuse("`{}` takes {} as operand {}, not {}", op.body.name(), parameters[i].shape().to_string(), i,
             in[i].shape().to_string());
    }
  }
  refuse_data_axes(op.body);
  if (op.body.outputs().empty()) {
    refuse("`{}` has no outputs", op.body.name());
  }
  Inferred result;
  for (const Output& out : op.body.outputs()) {
    result.shapes.push_back(out.value.shape());
  }
  return result;
}

std::vector<Value> call(const Graph& body, const std::vector<Value>& operands) {
  return make_all(Call{body}, operands);
}

Inferred infer(const Barrier&, Operands in) {
  Inferred result;
  for (const Value& value : in) {
    result.shapes.push_back(value.shape());
  }
  return result;
}

std::vector<Value> barrier(const std::vector<Value>& values) {
  return values.empty() ? values : make_all(Barrier{}, values);
}

}  // namespace tenon
