// The steps of a compiled model at sizes: bytes, operations, time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/lowered.h"
#include "inputs.h"
#include "json.h"
#include "tenon/executable.h"

namespace tenon::cli {

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

/// Microseconds of each step, from the first thread that begins it to the last that ends it, or, of one that runs
/// tile by tile, in all its tiles by the number of threads: the least of a few runs.
std::vector<StepTime> step_times(const Executable& executable, const std::function<void(const RunOptions&)>& run,
                                 const Bindings& bindings);

/// Sizes of `bindings` for each step; with `inputs`, also its time.
std::vector<BoundStep> bind_steps(const Executable& executable, const Bindings& bindings,
                                  const std::vector<Array>* inputs);

struct Roofline;

/// A line for each step, and their sum. `roofline` may be unknown.
std::string bound_table(const std::vector<BoundStep>& steps, const Roofline& roofline, const Executable& executable,
                        const Bindings& bindings);

/// What runs tile by tile, and why the rest of what could does not.
std::string pipeline_lines(const std::vector<PipelineReport>& reports);
/// The tiles that a step runs in; null where it runs whole.
const PipelineReport* tiles_of(const std::vector<PipelineReport>& reports, size_t step);
Json pipelines_json(const std::vector<PipelineReport>& reports);

/// Of each step, the names of the model's nodes in it, in order and each once: nodes of an ONNX file, source lines.
/// Empty where the model names none.
using NodeNames = std::vector<std::vector<std::string>>;
NodeNames node_names(const compiler::Lowered& lowered);
/// A line for each step: the first few of its names.
std::vector<std::string> name_notes(const NodeNames& names);

/// Everything about every step as data; `bound` and `nodes` may be empty, `roofline` unknown.
Json steps_json(const Executable& executable, const std::vector<BoundStep>& bound, const Roofline& roofline,
                const NodeNames& nodes);

/// Names and shapes.
Json ports_json(const std::vector<Port>& ports);

/// Loops of all steps; of long programs none, or the page would be one of loops.
Json loops_json(const compiler::Lowered& lowered, const Executable& executable);

}  // namespace tenon::cli
