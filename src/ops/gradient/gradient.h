// The derivative of each structural kind, in reverse mode. One overload for each kind, defined in
// <kind>_gradient.cpp. Calls, conditionals and loops differentiate their bodies; that is passes/autodiff's part.
#pragma once

#include <vector>

#include "ir/node.h"

namespace tenon {

/// One Value for each operand of a node; an empty Value where nothing flows (an index, a condition).
using Gradients = std::vector<Value>;

/// Gradients of the operands of `node`, whose operation is `op`, from the gradients of its outputs. A gradient has the
/// shape of what it belongs to; an empty Value among `outputs` means that nothing depends on that output.
/// Operations without a derivative are an Error that names them.
Gradients gradient(const Input& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Constant& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Iota& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Random& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Map& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Reduce& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Window& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Contract& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Conv& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Reshape& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Transpose& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Broadcast& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Slice& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Pad& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Flip& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Concat& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Gather& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Scatter& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Update& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Sort& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Scan& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Positions& op, const Node& node, const std::vector<Value>& outputs);
Gradients gradient(const Barrier& op, const Node& node, const std::vector<Value>& outputs);

/// Zeros of the shape and dtype of x.
Value zeros_like(const Value& x);

}  // namespace tenon
