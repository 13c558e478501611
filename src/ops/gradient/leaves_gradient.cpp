// What a graph starts from, and what counts, passes nothing on; a barrier passes on what it gets.
#include "ops/gradient/gradient.h"
#include "tenon/ops.h"

namespace tenon {

Gradients gradient(const Input&, const Node&, const std::vector<Value>&) { return {}; }
Gradients gradient(const Constant&, const Node&, const std::vector<Value>&) { return {}; }
Gradients gradient(const Iota&, const Node&, const std::vector<Value>&) { return {}; }
Gradients gradient(const Random&, const Node& node, const std::vector<Value>&) { return Gradients(node.inputs.size()); }
Gradients gradient(const Positions&, const Node&, const std::vector<Value>&) { return Gradients(1); }
Gradients gradient(const Barrier&, const Node&, const std::vector<Value>& outputs) { return outputs; }

Value zeros_like(const Value& x) { return full(x.shape(), 0); }

}  // namespace tenon
