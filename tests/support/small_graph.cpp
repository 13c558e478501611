#include "support/small_graph.h"

#include <fmt/format.h>

#include <random>
#include <sstream>

#include "ir/node.h"
#include "passes/rewriting/rewrite.h"
#include "support/arrays.h"
#include "tenon/bindings.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon {

Graph with_constants(const Graph& graph, std::string_view prefix) {
  std::mt19937_64 rng(5);
  std::vector<Value> operands;
  std::vector<Value> inputs;
  for (const Value& in : graph.inputs()) {
    if (in.node().as<Input>()->name.starts_with(prefix)) {
      const bool whole = is_integer(in.dtype());
      operands.push_back(constant(random_array(in.dtype(), resolve(in.shape(), {}).dims(), rng, whole ? 0 : -2, 2)));
    } else {
      operands.push_back(in);
      inputs.push_back(in);
    }
  }
  const std::vector<Value> values = passes::inline_graph(graph, operands);
  std::vector<Output> outputs;
  for (size_t i = 0; i < values.size(); ++i) {
    outputs.push_back({.name = graph.outputs()[i].name, .value = values[i]});
  }
  return {graph.name(), std::move(inputs), std::move(outputs)};
}

void PrintTo(const SmallGraph& text, std::ostream* out) { *out << text.statements; }

Graph make(const SmallGraph& text) {
  std::string lines;
  std::vector<std::string> outputs;
  std::istringstream statements(text.statements);
  for (std::string statement; std::getline(statements, statement, ';');) {
    const std::string trimmed = statement.substr(statement.find_first_not_of(' '));
    lines += "  " + trimmed + "\n";
    if (trimmed.starts_with('y')) {
      outputs.push_back(fmt::format("{0}={0}", trimmed.substr(0, trimmed.find_first_of(" ="))));
    }
  }
  return with_constants(parse_graph(fmt::format("graph {}({}) {{\n{}  return {}\n}}\n", text.name, text.inputs, lines,
                                                fmt::join(outputs, ", "))),
                        "w");
}

std::vector<Bindings> beyond_a_tile(const Graph& graph) {
  const std::vector<Bindings> sizes{
      Bindings::parse("m=40, n=270, k=37, l=5, b=2, s=67, p=2, q=3, batch=2, seq=67"),
      Bindings::parse("m=390, n=35, k=9, l=12, b=2, s=390, p=3, q=2, batch=1, seq=390"),
      Bindings::parse("m=13, n=20, k=1100, l=3, b=1, s=13, p=2, q=1, batch=1, seq=13"),
      Bindings::parse("m=400, n=300, k=3, l=2, b=1, s=800, p=2, q=1, batch=1, seq=400"),
  };
  std::vector<Bindings> result;
  for (const Bindings& all : sizes) {
    Bindings bindings;
    for (const Value& in : graph.inputs()) {
      for (const Axis& axis : in.shape().axes()) {
        for (const std::string& name : axis.extent().names()) {
          bindings.set(name, all.at(name));
        }
      }
    }
    result.push_back(bindings);
  }
  return result;
}

}  // namespace tenon
