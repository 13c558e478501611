// From a program and the code of its kernels to what users run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/pool.h"
#include "kernel/abi.h"
#include "kernel/program/program.h"
#include "shape/constraint_set.h"
#include "tenon/executable.h"

namespace tenon {

struct RuntimeOptions {
  int64_t memory_budget = kDefaultMemoryBudget;
  Pool* pool = nullptr;                 // the shared one; must outlive the executable
  double compile_ms = 0;                // what Level 1 took, for the counters
  std::string code = {};                // what runs the kernels, for Capabilities
  std::vector<std::string> names = {};  // that bindings may have beside those that the program needs
  int first_step = 0;                   // of the program among the steps of all, for traces
  /// For tests: called before each step, on the caller's thread, and before each chunk, on any thread; may throw.
  std::function<void(size_t step)> before_step = {};
};

/// `code` has an entry for each of all_kernels(program). `keep_alive` is held as long as any of it may run: the owner
/// of the machine code. `constraints` are what the sizes of a run must satisfy.
Executable make_executable(Program program, std::vector<KernelEntry> code, ConstraintSet constraints,
                           std::shared_ptr<void> keep_alive = nullptr, const RuntimeOptions& options = {});

}  // namespace tenon
