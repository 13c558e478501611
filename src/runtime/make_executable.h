// From a program and the code of its kernels to what users run.
#pragma once

#include <memory>
#include <vector>

#include "base/pool.h"
#include "kernel/abi.h"
#include "kernel/program.h"
#include "shape/constraint_set.h"
#include "tenon/executable.h"

namespace tenon {

struct RuntimeOptions {
  int64_t cache_bytes = int64_t{16} << 20;  // of specializations that are kept
  int64_t idle_bytes = int64_t{256} << 20;  // of memory that is kept between runs
  Pool* pool = nullptr;                     // the shared one; must outlive the executable
};

/// `code` has an entry for each kernel of the program. `keep_alive` is held as long as any of it may run: the owner of
/// the machine code. `constraints` are what the sizes of a run must satisfy.
Executable make_executable(Program program, std::vector<KernelEntry> code, ConstraintSet constraints,
                           std::shared_ptr<void> keep_alive = nullptr, const RuntimeOptions& options = {});

}  // namespace tenon
