// Why two operations are not one kernel: what `tenon explain --why` prints.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "compiler/lowered.h"
#include "json.h"
#include "schedule/fuse/attempts.h"

namespace tenon::cli {

/// What a rule found, the last time that it tried the two.
struct RuleFinding {
  std::string rule, first, second;  // the groups that it tried, by their operators
  std::string finding;
};

struct WhyApart {
  std::string first, second;          // as they were asked for, with their steps
  int64_t step = 0;                   // that has both; 0: there is none
  std::vector<RuleFinding> findings;  // empty: no rule tried them
  std::string saved;                  // bytes that one kernel would not store and load, as an expression; "" none
};

/// `first` and `second` are numbers of steps, names of nodes of the model, or operators. Error: there is no such step
/// or name, or there are several of that name.
WhyApart why_apart(const compiler::Lowered& lowered, const std::vector<schedule::FusionAttempt>& attempts,
                   const std::string& first, const std::string& second);

std::string why_text(const WhyApart& why);
Json why_json(const WhyApart& why);

/// The answer for `--why` and the second word, by what was tried while `lowered` was made.
int show_why(const Arguments& arguments, const compiler::Lowered& lowered, const schedule::AttemptLog& log);

}  // namespace tenon::cli
