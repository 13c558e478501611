// Whole texts: one graph after the other.
#include "text/module_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/fail.h"
#include "ir/node.h"
#include "ir/unify_names.h"
#include "tenon/text.h"
#include "text/graph_parser.h"

namespace tenon {
namespace text {
namespace {

Graph parse_one(Cursor& cursor, GraphTable& graphs, const std::string& name, size_t offset) {
  GraphParser parser(graphs);
  Cursor inputs = cursor.take_bracketed('(');
  bool more = !inputs.done();
  while (more) {
    Cursor item = inputs.take_item(more);
    parser.parse_input(item);
    item.expect_done();
  }
  Cursor body = cursor.take_bracketed('{');
  while (!body.done()) {
    parser.parse_statement(body);
  }
  if (!parser.has_returned()) {
    body.expected("`return`");
  }
  return body.source().located(offset, [&] { return parser.finish(name); });
}

}  // namespace

std::vector<ParsedGraph> parse_graphs(Cursor cursor, GraphTable& graphs, std::optional<UnifyNames>& unify) {
  std::vector<ParsedGraph> parsed;
  if (cursor.at_word("names") && cursor.at_word("unify", 1)) {
    cursor.take();
    cursor.take();
    unify.emplace();
  }
  while (!cursor.done()) {
    const bool entry = cursor.accept_word("entry");
    if (!cursor.accept_word("graph")) {
      cursor.expected("`graph`");
    }
    const Cursor start = cursor;
    const std::string label = cursor.take_name("the name of a graph");
    if (graphs.contains(label)) {
      start.fail(fmt::format("two graphs are called `{}`", label));
    }
    const std::string name = cursor.accept_word("as") ? cursor.take_name("the name of the graph") : label;
    const Graph graph = parse_one(cursor, graphs, name, start.offset());
    graphs.add(label, graph);
    parsed.push_back({label, graph, entry});
  }
  return parsed;
}

}  // namespace text

GraphSet parse_graphs(std::string_view text) {
  const text::TokenList tokens = text::lex(text);
  text::GraphTable graphs;
  const DataAxisScope data_axes;
  std::optional<UnifyNames> unify;
  GraphSet module;
  for (text::ParsedGraph& parsed : text::parse_graphs(text::Cursor(tokens), graphs, unify)) {
    if (!parsed.entry && graphs.is_called(parsed.label)) {
      continue;
    }
    if (std::ranges::find(module.graphs, parsed.graph.name(), &Graph::name) != module.graphs.end()) {
      fail("two graphs of the module are called `{}`", parsed.graph.name());
    }
    module.graphs.push_back(std::move(parsed.graph));
  }
  return module;
}

Graph parse_graph(std::string_view text) {
  const text::TokenList tokens = text::lex(text);
  text::GraphTable graphs;
  const DataAxisScope data_axes;
  std::optional<UnifyNames> unify;
  const std::vector<text::ParsedGraph> parsed = text::parse_graphs(text::Cursor(tokens), graphs, unify);
  if (parsed.empty()) {
    fail("there is no graph in the text");
  }
  return parsed.back().graph;
}

}  // namespace tenon
