// From a word of `--why` to operations: a step's number, a node of the model, a module, or an operator.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "cli/explain/numbered_steps.h"
#include "cli/explain/shared_bytes.h"
#include "compiler/lowered.h"
#include "schedule/fuse/attempts.h"

namespace tenon::cli {

struct Asked {
  Nodes nodes;
  std::set<size_t> steps;  // that compute them, by their places in the list of all; none: a concat whose operands are
                           // written in their places
  std::string text;
};

/// A step by its number; else all nodes of one place; else those of a module; else the one node of that operator.
/// Error: there is none of it, or several operators.
Asked asked_for(const compiler::Lowered& lowered, const std::vector<NumberedStep>& steps,
                const std::vector<schedule::FusionAttempt>& attempts, const std::string& word);

/// Whether the passes left a node of this name.
bool has_place(const compiler::Lowered& lowered, const std::string& place);

}  // namespace tenon::cli
