#include "backend/describe_cpu.h"

#ifdef TENON_WITH_LLVM
#include "codegen/target/target.h"
#endif

namespace tenon::backend {
namespace {

/// Where no machine code is made, those of the longest vectors that there are.
int64_t vector_bytes([[maybe_unused]] const Machine& machine) {
#ifdef TENON_WITH_LLVM
  if (machine.cpu().instructions != InstructionSet::other) {
    return codegen::target_of(machine).vector_bits / 8;
  }
#endif
  return 64;
}

}  // namespace

void describe_cpu(const Machine& machine, schedule::ScheduleOptions& options) {
  const CpuMachine& cpu = machine.cpu();
  options.tiles = schedule::product_tiles(cpu.second_cache);
  options.cores = cpu.cores;
  options.vector_bytes = vector_bytes(machine);
  options.pipelines.cache = cpu.second_cache;
  options.pipelines.last_cache = cpu.last_cache;
}

}  // namespace tenon::backend
