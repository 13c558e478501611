// Rebuilding a graph, operands before users.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/node.h"

namespace tenon::passes {

/// What takes the place of `node`, given what took the place of its operands: one Value for each output. Nothing: the
/// same operation on the new operands.
using RewriteRule =
    std::function<std::optional<std::vector<Value>>(const Node& node, const std::vector<Value>& operands)>;

/// The graph with `rule` applied to every node but inputs, which stay. Shapes are inferred anew and places are kept.
/// Bodies of composites are not entered.
Graph rewrite(const Graph& graph, const RewriteRule& rule);

/// The values that `roots` become when `rule` is applied to all they need; `known` starts the replacement.
std::vector<Value> rewrite_values(const std::vector<Value>& roots, std::unordered_map<Value, Value> known,
                                  const RewriteRule& rule);

/// The outputs of `body` with `operands` in place of its inputs.
std::vector<Value> inline_graph(const Graph& body, const std::vector<Value>& operands);

using Substitution = std::map<std::string, Extent, std::less<>>;

/// The operation with axis names replaced in every field, bodies included.
Op substitute(const Op& op, const Substitution& by);

}  // namespace tenon::passes
