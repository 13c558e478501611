#include "backend/describe_cpu.h"

#include "native/target.h"

namespace tenon::backend {
namespace {

/// Where no machine code is made for the processor, those of the longest vectors that there are.
int64_t vector_bytes(const Machine& machine) {
  return machine.cpu().instructions == InstructionSet::other ? 64 : codegen::target_of(machine).vector_bits / 8;
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
