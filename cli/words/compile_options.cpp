#include "cli/words/compile_options.h"

#include <algorithm>

#include "base/fail.h"
#include "tenon/gpu.h"

namespace tenon::cli {

void take_compile_options(const Arguments& arguments, CompileOptions& options) {
  if (arguments.has(kPipelineRows.name) && arguments.has(kNoPipelines.name)) {
    fail("`--pipeline-rows` and `--no-pipelines` are one or the other");
  }
  options.pipelines = !arguments.has(kNoPipelines.name);
  options.pipeline_rows = arguments.find_number(kPipelineRows.name, 1).value_or(0);
  options.winograd = !arguments.has(kNoWinograd.name);
  options.disk_cache = !arguments.has(kNoCacheOption.name);
  if (const auto word = arguments.find(kWeights.name)) {
    options.weights = parse_weight_format(*word);
    if (!options.weights) {
      fail("`--weights` is bf16, f16, i8 or i4, not `{}`", *word);
    }
  }
  if (const auto word = arguments.find(kPrecision.name)) {
    const auto precision = parse_precision(*word);
    if (!precision) {
      fail("`{}` is f32, tf32, bf16 or f16, not `{}`", kPrecision.name, *word);
    }
    options.precision = *precision;
  }
  if (const auto device = arguments.find(kDevice.name)) {
    options.machine = machine_of_device(*device);
  }
  const auto threads = arguments.find_number("--threads", 1);
  if (threads && !options.machine.is_gpu()) {
    int64_t& cores = options.machine.cpu().cores;
    cores = std::min(cores, *threads);
  }
}

}  // namespace tenon::cli
