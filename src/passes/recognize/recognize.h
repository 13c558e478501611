// How composites are found: a recognizer looks at one value and says which composite it is the result of.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tenon/graph.h"

namespace tenon::passes {

/// A composite that a value is the result of: its operands, which are values of the graph, and how to build it on what
/// takes their place.
struct Recognized {
  std::vector<Value> operands;
  std::function<Value(const std::vector<Value>&)> build;
};

using Recognizer = std::optional<Recognized> (*)(const Value& result);

/// Replace what `find` finds, the largest first. Only where all between the operands and the result is read inside
/// alone and is no output of the graph; constants may be read by others too.
Graph recognize(Graph graph, Recognizer find);

// One for each family, in recognize_<family>.cpp.
std::optional<Recognized> find_activation(const Value& result);
std::optional<Recognized> find_softmax(const Value& result);
std::optional<Recognized> find_norm(const Value& result);
std::optional<Recognized> find_attention(const Value& result);
std::optional<Recognized> find_dense(const Value& result);
std::optional<Recognized> find_qkv(const Value& result);

}  // namespace tenon::passes
