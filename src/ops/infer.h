// What each structural kind gives for what it is given: result shapes on symbolic extents, or an error that names the
// axis. One overload for each kind, defined in ops/<kind>.cpp; the errors carry no operation name and no place, make()
// adds them.
#pragma once

#include <span>
#include <vector>

#include "ir/node.h"

namespace tenon {

using Operands = std::span<const Value>;

struct Inferred {
  std::vector<Shape> shapes;
  std::vector<Constraint> constraints = {};  // what cannot be decided before the sizes are known
};

Inferred infer(const Input& op, Operands in);
Inferred infer(const Constant& op, Operands in);
Inferred infer(const Iota& op, Operands in);
Inferred infer(const Map& op, Operands in);
Inferred infer(const Reduce& op, Operands in);
Inferred infer(const Contract& op, Operands in);
Inferred infer(const Reshape& op, Operands in);
Inferred infer(const Transpose& op, Operands in);
Inferred infer(const Broadcast& op, Operands in);
Inferred infer(const Slice& op, Operands in);
Inferred infer(const Pad& op, Operands in);
Inferred infer(const Flip& op, Operands in);
Inferred infer(const Concat& op, Operands in);
Inferred infer(const Gather& op, Operands in);
Inferred infer(const Update& op, Operands in);
Inferred infer(const Call& op, Operands in);
Inferred infer(const Random& op, Operands in);
Inferred infer(const Window& op, Operands in);
Inferred infer(const Conv& op, Operands in);
Inferred infer(const Scatter& op, Operands in);
Inferred infer(const Sort& op, Operands in);
Inferred infer(const Scan& op, Operands in);
Inferred infer(const Positions& op, Operands in);
Inferred infer(const If& op, Operands in);
Inferred infer(const Loop& op, Operands in);
Inferred infer(const Barrier& op, Operands in);

/// Error when the size of an axis is decided inside of a body: what is around it could not have that axis.
void refuse_data_axes(const Graph& body);

/// Whether sums of products of these dtypes may have that of `result`: the operands' own, or a wider one for narrow
/// products, which would overflow at once.
bool multiplies_into(Dtype lhs, Dtype rhs, Dtype result);

/// The dtype of what row `fn` gives for operands that it takes; a cast's is the user's choice and not answered here.
Dtype result_dtype(const ScalarFn& fn, Operands in);

/// A view needs nothing of its operand but the shape; updates follow a path of them.
Inferred infer_view(const View& view, const Shape& x);
Inferred infer_view(const Reshape& view, const Shape& x);
Inferred infer_view(const Transpose& view, const Shape& x);
Inferred infer_view(const Broadcast& view, const Shape& x);
Inferred infer_view(const Slice& view, const Shape& x);
Inferred infer_view(const Pad& view, const Shape& x);
Inferred infer_view(const Flip& view, const Shape& x);

}  // namespace tenon
