#include "compile_options.h"

#include <algorithm>

#include "base/fail.h"

namespace tenon::cli {

void take_pipeline_options(const Arguments& arguments, CompileOptions& options) {
  if (arguments.has("--pipeline-rows") && arguments.has("--no-pipelines")) {
    fail("`--pipeline-rows` and `--no-pipelines` are one or the other");
  }
  options.pipelines = !arguments.has("--no-pipelines");
  options.pipeline_rows = arguments.find_number("--pipeline-rows", 1).value_or(0);
}

void take_threads(const Arguments& arguments, CompileOptions& options) {
  if (const auto threads = arguments.find_number("--threads", 1)) {
    options.machine.cores = std::min(options.machine.cores, *threads);
  }
}

}  // namespace tenon::cli
