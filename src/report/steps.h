// The steps of a compiled model as data: bytes, operations, time, names, loops.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/lowered.h"
#include "report/json.h"
#include "tenon/array.h"
#include "tenon/executable.h"
#include "tenon/trace.h"

namespace tenon::report {

/// What a step moves, computes and takes at a binding.
struct BoundStep {
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  int64_t flops = 0;         // of products and convolutions
  double microseconds = -1;  // the least of several runs; negative: not measured
  int threads = 0;           // that took part then
};

struct StepTime {
  double microseconds = 0;
  int threads = 0;
};

/// Microseconds of each of `steps` in the events of one run: from the first thread that begins it to the last that
/// ends it, or, of one that runs tile by tile, in all its tiles by the number of threads.
std::vector<StepTime> times_of(const std::vector<TraceEvent>& events, size_t steps);
/// These as times of `steps`; without events they stay unknown.
void add_times(const std::vector<TraceEvent>& events, std::vector<BoundStep>& steps);
/// The least of a few runs.
std::vector<StepTime> step_times(const Executable& executable, const std::function<void(const RunOptions&)>& run,
                                 const Bindings& bindings);

/// Sizes of `bindings` for each step; with `inputs`, also its time.
std::vector<BoundStep> bind_steps(const Executable& executable, const Bindings& bindings,
                                  const std::vector<Array>* inputs);

struct Roofline;

/// The tiles that a step runs in; null where it runs whole.
const PipelineReport* tiles_of(const std::vector<PipelineReport>& reports, size_t step);
Json pipelines_json(const std::vector<PipelineReport>& reports);

/// Everything about every step as data; `bound` may be empty, `roofline` unknown.
Json steps_json(const Executable& executable, const std::vector<BoundStep>& bound, const Roofline& roofline);

/// Names and shapes.
Json ports_json(const std::vector<Port>& ports);

/// Loops of all steps; of long programs none, or the page would be one of loops.
Json loops_json(const compiler::Lowered& lowered, const Executable& executable);

}  // namespace tenon::report
