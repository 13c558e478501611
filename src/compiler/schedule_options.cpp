#include "compiler/schedule_options.h"

#include <fmt/format.h>

#include "backend/backend.h"

namespace tenon::compiler {

schedule::ScheduleOptions schedule_options(const CompileOptions& options) {
  check_machine(options.machine);
  if (options.pipeline_rows < 0) {
    throw Error(fmt::format("CompileOptions::pipeline_rows is {}: give a number of rows, or 0 for tiles where they pay",
                            options.pipeline_rows));
  }
  schedule::ScheduleOptions told{.fuse = options.fuse,
                                 .winograd = options.winograd,
                                 .upper_bits = options.precision != Precision::f32,
                                 .most_row_bytes = options.most_row_bytes,
                                 .least_shared_work = options.least_shared_work,
                                 .pipelines = {.on = options.pipelines, .rows = options.pipeline_rows}};
  backend::backend_for(options.machine, options.native).describe(options.machine, told);
  return told;
}

}  // namespace tenon::compiler
