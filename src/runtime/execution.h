// One run of a program at one binding.
#pragma once

#include <span>
#include <vector>

#include "base/pool.h"
#include "kernel/abi.h"
#include "kernel/program.h"
#include "runtime/memory_pool.h"
#include "runtime/plan.h"
#include "runtime/specialization.h"
#include "tenon/strided_array.h"

namespace tenon::runtime {

/// What runs share. All of it outlives them.
struct Context {
  const Program& program;
  const std::vector<KernelEntry>& code;
  const Plan& plan;
  Pool& pool;
  MemoryPool& memory;
};

/// Run every step in order. The first Error ends the run after what is under way has drained. `donated` is empty or
/// the inputs, which may then be taken.
std::vector<StridedArray> execute(const Context& context, const Specialization& specialization,
                                  std::span<const Array> inputs, std::span<Array> donated, int threads);

}  // namespace tenon::runtime
