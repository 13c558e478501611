#include "compiler/schedule_options.h"

#include <fmt/format.h>

#include "compiler/backend.h"

namespace tenon::compiler {

schedule::ScheduleOptions schedule_options(const CompileOptions& options) {
  check_machine(options.machine);
  if (options.machine.is_gpu()) {
    throw Error(fmt::format("machine `{}` is a GPU ({}), and this build has no back end for GPUs: it compiles for CPUs",
                            options.machine.name, options.machine.gpu().architecture));
  }
  const CpuMachine& cpu = options.machine.cpu();
  if (options.pipeline_rows < 0) {
    throw Error(fmt::format("CompileOptions::pipeline_rows is {}: give a number of rows, or 0 for tiles where they pay",
                            options.pipeline_rows));
  }
  return {.fuse = options.fuse,
          .panel = options.native ? panel_columns(options.machine) : 0,
          .bytes_together = options.native ? bytes_together(options.machine) : 0,
          .tiles = schedule::product_tiles(cpu.second_cache),
          .cores = cpu.cores,
          .vector_bytes = vector_bytes(options.machine),
          .winograd = options.winograd,
          .most_row_bytes = options.most_row_bytes,
          .least_shared_work = options.least_shared_work,
          .pipelines = {.on = options.pipelines,
                        .rows = options.pipeline_rows,
                        .cache = cpu.second_cache,
                        .last_cache = cpu.last_cache}};
}

}  // namespace tenon::compiler
