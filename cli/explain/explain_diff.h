// Two compiled models side by side: `tenon explain --diff`.
#pragma once

#include <string>

#include "cli/explain/match_steps.h"
#include "cli/explain/read_steps.h"
#include "cli/print/json.h"

namespace tenon::cli {

/// One of the two.
struct DiffSide {
  std::string title;  // as the user said it
  ReadProgram program;
};

struct StepsDiff {
  DiffSide a, b;
  std::vector<StepGroup> groups;
};
StepsDiff diff_steps(DiffSide a, DiffSide b);

std::string diff_text(const StepsDiff& diff);
Json diff_json(const StepsDiff& diff);
std::string diff_page(const StepsDiff& diff);

}  // namespace tenon::cli
