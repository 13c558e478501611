#include "pipeline_options.h"

#include "base/fail.h"

namespace tenon::cli {

void take_pipeline_options(const Arguments& arguments, CompileOptions& options) {
  if (arguments.has("--pipeline-rows") && arguments.has("--no-pipelines")) {
    fail("`--pipeline-rows` and `--no-pipelines` are one or the other");
  }
  options.pipelines = !arguments.has("--no-pipelines");
  options.pipeline_rows = arguments.find_number("--pipeline-rows", 1).value_or(0);
}

}  // namespace tenon::cli
