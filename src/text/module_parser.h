// Several graphs in one text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/unify_names.h"
#include "tenon/graph.h"
#include "text/cursor.h"
#include "text/graph_table.h"

namespace tenon::text {

struct ParsedGraph {
  std::string label;  // what the text calls it
  Graph graph;
  bool entry = false;  // marked so
};

/// Every graph of the text, in order; they are added to `graphs`. `names unify` is switched on in `unify`, for as long
/// as that lives.
std::vector<ParsedGraph> parse_graphs(Cursor cursor, GraphTable& graphs, std::optional<UnifyNames>& unify);

}  // namespace tenon::text
