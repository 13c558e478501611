#include "backend/describe_cpu.h"

#include "base/host_caches.h"
#ifdef TENON_WITH_LLVM
#include "codegen/target/target.h"
#endif

namespace tenon::backend {
namespace {

/// In a build that makes no machine code, those of the longest vectors that there are.
int64_t vector_bytes(const Machine& machine) {
#ifdef TENON_WITH_LLVM
  return codegen::target_of(machine).vector_bits / 8;
#else
  return 64;
#endif
}

}  // namespace

void describe_cpu(const Machine& machine, schedule::ScheduleOptions& options) {
  options.tiles = schedule::product_tiles(machine.second_cache);
  options.cores = machine.cores;
  options.vector_bytes = vector_bytes(machine);
  options.pipelines.cache = machine.second_cache;
  options.pipelines.last_cache = machine == this_machine() ? host_caches().last : 0;
}

}  // namespace tenon::backend
