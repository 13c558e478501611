// Two compiled models side by side: `tenon explain --diff`.
#pragma once

#include <string>

#include "json.h"
#include "match_steps.h"
#include "read_steps.h"

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
