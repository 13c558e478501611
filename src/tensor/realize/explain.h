// What is kept of a run for an explanation of it.
#pragma once

#include <memory>
#include <vector>

#include "tenon/realizations.h"
#include "tenon/trace.h"
#include "tensor/realize/program.h"

namespace tenon::tensors {

/// A realization and what it ran. Programs and leaves are not kept alive by it.
struct KeptRun {
  Realization what;
  bool interpreted = false;  // by the graph's interpreter: there is no program
  std::weak_ptr<const Program> program = {};
  Bindings bindings = {};               // of every name that the program's inputs have, and of free ones
  std::vector<TraceEvent> events = {};  // where steps were timed
};

/// The sizes of a run: those of the names of the program's inputs, and `more`.
Bindings bindings_of_run(const Executable& executable, const std::vector<Array>& inputs, const Bindings& more);

}  // namespace tenon::tensors
