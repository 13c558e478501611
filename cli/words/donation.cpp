#include "cli/words/donation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/fail.h"
#include "ir/node.h"
#include "tenon/donate.h"

namespace tenon::cli {
namespace {

/// Of outputs that take over inputs, to be shown.
constexpr size_t kMostLines = 4;

[[noreturn]] void fail_none_found(const Graph& graph) {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  for (const Value& value : graph.inputs()) {
    inputs.push_back(value.node().as<Input>()->name);
  }
  for (const Output& output : graph.outputs()) {
    outputs.push_back(output.name);
  }
  fail(
      "`--donate auto`: no output updates an input and is called so (past and present, state and new_state); give the "
      "pairs: --donate INPUT=OUTPUT\n  inputs: {}\n  outputs: {}",
      fmt::join(inputs, ", "), fmt::join(outputs, ", "));
}

}  // namespace

GraphModel with_donations(const std::vector<std::string>& words, GraphModel model) {
  std::vector<Donation> pairs;
  for (const std::string& word : words) {
    if (word != "auto") {
      pairs.push_back(parse_donation(word));
      continue;
    }
    const std::vector<Donation> found = find_donations(model.graph);
    if (found.empty()) {
      fail_none_found(model.graph);
    }
    pairs.insert(pairs.end(), found.begin(), found.end());
  }
  if (!pairs.empty()) {
    model.graph = donate(model.graph, pairs);
  }
  return model;
}

std::string donations_text(const Graph& graph) {
  std::string text;
  const std::vector<std::string> lines = describe_donations(graph);
  for (size_t i = 0; i < lines.size() && i < kMostLines; ++i) {
    text += "  " + lines[i] + "\n";
  }
  if (lines.size() > kMostLines) {
    text += fmt::format("  and {} outputs more take over an input\n", lines.size() - kMostLines);
  }
  std::vector<Donation> open = find_donations(graph);
  std::erase_if(open, [&](const Donation& pair) {
    const auto output = std::ranges::find(graph.outputs(), pair.output, &Output::name);
    return output->aliases >= 0;
  });
  if (!open.empty()) {
    text += fmt::format("  `{}` could take over `{}`{}: --donate auto\n", open[0].output, open[0].input,
                        open.size() == 1 ? "" : fmt::format(", and {} outputs more an input", open.size() - 1));
  }
  return text;
}

}  // namespace tenon::cli
