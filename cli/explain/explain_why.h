// Why two operations are not one kernel: what `tenon explain --why` prints.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/print/json.h"
#include "cli/words/arguments.h"
#include "compiler/lowered.h"
#include "schedule/fuse/attempts.h"

namespace tenon::cli {

/// What a rule found when it tried the two.
struct RuleFinding {
  std::string rule, first, second;  // the groups that it tried, by their operators
  std::string finding;
};

struct WhyApart {
  std::string first, second;               // as they were asked for, with their steps
  std::string step = {};                   // that has both, or runs the one in its body: its number; "" none
  std::string together = {};               // how one kernel or launch has both; "" where they are apart
  std::vector<RuleFinding> findings = {};  // empty: no rule tried them
  std::string untried = {};                // why no rule tried them, where none did
  std::string saved = {};                  // bytes that one kernel would not store and load, as an expression; "" none
  bool shared = false;                     // they are of what both read, not of what one makes
};

/// Nodes of the model that give what an earlier one gives, and the names of these.
using MergedNames = std::map<std::string, std::string, std::less<>>;

/// `first` and `second` are numbers of steps (4.2 is inside of step 4), names of nodes or modules of the model, or
/// operators. Error: there is no such step or name, there are several of that name, both are the same, or no step
/// computes it.
WhyApart why_apart(const compiler::Lowered& lowered, const std::vector<schedule::FusionAttempt>& attempts,
                   const std::string& first, const std::string& second);

std::string why_text(const WhyApart& why);
Json why_json(const WhyApart& why);

/// The answer for `--why` and the second word, by what was tried while `lowered` was made.
int show_why(const Arguments& arguments, const compiler::Lowered& lowered, const MergedNames& merged,
             const schedule::AttemptLog& log);

}  // namespace tenon::cli
