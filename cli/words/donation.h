// `--donate`: outputs that take over the memory of inputs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/models/load_graph.h"
#include "cli/words/arguments.h"

namespace tenon::cli {

inline constexpr Option kDonate{
    "--donate", "INPUT=OUTPUT",
    "the output takes over the input's memory, and later runs begin with it; `auto` for pairs named past and present",
    true};

/// The model with what `--donate` says done to its graph. Error: `auto` where no names tell of a pair.
GraphModel with_donations(const std::vector<std::string>& words, GraphModel model);
inline GraphModel with_donations(const Arguments& arguments, GraphModel model) {
  return with_donations(arguments.all(kDonate.name), std::move(model));
}

/// A line for each output that takes over an input, and one that says which others could; none where there are none.
std::string donations_text(const Graph& graph);

}  // namespace tenon::cli
