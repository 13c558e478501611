// The steps of a compiled model, those inside of loops and conditionals included, with the numbers that people use.
#pragma once

#include <string>
#include <vector>

#include "compiler/lowered.h"

namespace tenon::cli {

/// Points into a Lowered.
struct NumberedStep {
  std::string number;  // as `tenon explain` prints it: 4, or 4.2 inside of step 4
  std::string within;  // the number of the step whose body it is in; empty outside of bodies
  const Program& program;
  size_t at = 0;  // in it
  const std::vector<const Node*>& nodes;

  const Step& step() const { return program.steps[at]; }
  /// The number of another step of the same program.
  std::string number_of(size_t other) const;
};

/// In the order in which `tenon explain` prints them.
std::vector<NumberedStep> numbered_steps(const compiler::Lowered& lowered);

/// Whether the word is what a step could be called: digits, with dots between.
bool is_step_number(const std::string& word);

}  // namespace tenon::cli
