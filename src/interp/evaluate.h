// One overload for each structural kind: its outputs from its operands, as plainly as possible.
#pragma once

#include <vector>

#include "ir/node.h"
#include "tenon/array.h"
#include "tenon/interpreter.h"

namespace tenon {

/// What a node is evaluated with.
struct Evaluation {
  const Node& node;
  std::vector<Array> inputs;
  const Bindings& bindings;
  bool reference = false;

  /// The dtype a value of `dtype` has here: f64 for every float in reference mode.
  Dtype dtype(Dtype declared) const { return reference && is_float(declared) ? Dtype::f64 : declared; }
  /// Sizes of output `i`.
  std::vector<int64_t> dims(size_t i = 0) const { return resolve(node.shapes[i], bindings).dims(); }
  /// Zeros for output `i`.
  Array output(size_t i = 0) const { return {dtype(node.shapes[i].dtype()), dims(i)}; }
};

using Arrays = std::vector<Array>;
Arrays evaluate(const Input& op, const Evaluation& e);
Arrays evaluate(const Constant& op, const Evaluation& e);
Arrays evaluate(const Iota& op, const Evaluation& e);
Arrays evaluate(const Map& op, const Evaluation& e);
Arrays evaluate(const Reduce& op, const Evaluation& e);
Arrays evaluate(const Contract& op, const Evaluation& e);
Arrays evaluate(const Reshape& op, const Evaluation& e);
Arrays evaluate(const Transpose& op, const Evaluation& e);
Arrays evaluate(const Broadcast& op, const Evaluation& e);
Arrays evaluate(const Slice& op, const Evaluation& e);
Arrays evaluate(const Pad& op, const Evaluation& e);
Arrays evaluate(const Flip& op, const Evaluation& e);
Arrays evaluate(const Concat& op, const Evaluation& e);
Arrays evaluate(const Gather& op, const Evaluation& e);
Arrays evaluate(const Update& op, const Evaluation& e);
Arrays evaluate(const Call& op, const Evaluation& e);
Arrays evaluate(const Random& op, const Evaluation& e);
Arrays evaluate(const Window& op, const Evaluation& e);
Arrays evaluate(const Conv& op, const Evaluation& e);
Arrays evaluate(const Scatter& op, const Evaluation& e);
Arrays evaluate(const Sort& op, const Evaluation& e);
Arrays evaluate(const Scan& op, const Evaluation& e);
Arrays evaluate(const Positions& op, const Evaluation& e);
Arrays evaluate(const If& op, const Evaluation& e);
Arrays evaluate(const Loop& op, const Evaluation& e);
Arrays evaluate(const Barrier& op, const Evaluation& e);

/// A whole graph with names bound and constraints checked.
Arrays evaluate_graph(const Graph& graph, Arrays inputs, const Bindings& bindings, bool reference);

}  // namespace tenon
