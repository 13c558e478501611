// Which steps made what a step reads, for people who look at a run.
#pragma once

#include <span>
#include <vector>

#include "kernel/program/program.h"

namespace tenon::runtime {

/// Steps are counted from `first_step` on; -1 stands for none.
struct StepReads {
  std::vector<std::vector<int>> of_steps;  // the steps whose results each reads, in order and each once
  std::vector<int> of_outputs;             // the step that wrote each output last
};

/// `inputs` are the steps that made the program's inputs, where other programs made them; it may be empty.
StepReads step_reads(const Program& program, int first_step, std::span<const int> inputs);

}  // namespace tenon::runtime
