#include "report/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/clock.h"
#include "compiler/inspect.h"
#include "kernel/program/step_text.h"
#include "report/roofline.h"
#include "tenon/bindings.h"
#include "tenon/trace.h"

namespace tenon::report {

std::vector<StepTime> times_of(const std::vector<TraceEvent>& events, size_t steps) {
  std::vector<int64_t> begin(steps, std::numeric_limits<int64_t>::max());
  std::vector<int64_t> end(steps, 0);
  std::vector<int64_t> in_tiles(steps, 0);
  std::vector<std::set<int>> threads(steps);
  for (const TraceEvent& event : events) {
    const auto step = static_cast<size_t>(event.step - 1);
    begin[step] = std::min(begin[step], event.begin_ns);
    end[step] = std::max(end[step], event.end_ns);
    in_tiles[step] += event.tile < 0 ? 0 : event.end_ns - event.begin_ns;
    threads[step].insert(event.thread);
  }
  std::vector<StepTime> times(steps);
  for (size_t k = 0; k < steps; ++k) {
    double time = end[k] == 0 ? 0 : static_cast<double>(end[k] - begin[k]) / 1e3;  // nothing to do, no event
    if (in_tiles[k] > 0) {                                                         // others run between its tiles
      time = static_cast<double>(in_tiles[k]) / static_cast<double>(threads[k].size()) / 1e3;
    }
    times[k] = {.microseconds = time, .threads = static_cast<int>(threads[k].size())};
  }
  return times;
}

void add_times(const std::vector<TraceEvent>& events, std::vector<BoundStep>& steps) {
  if (events.empty()) {
    return;
  }
  const std::vector<StepTime> times = times_of(events, steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].microseconds = times[i].microseconds;
    steps[i].threads = times[i].threads;
  }
}

std::vector<StepTime> step_times(const Executable& executable, const std::function<void(const RunOptions&)>& run,
                                 const Bindings& bindings) {
  // Of short runs many: others who use the machine disturb some of them.
  constexpr int least_runs = 5;
  constexpr int most_runs = 40;
  constexpr int64_t most_ns = 300'000'000;
  std::vector<StepTime> least;
  run({.bindings = bindings});  // the first run has pages to touch
  const int64_t begin = nanoseconds_now();
  for (int i = 0; i < least_runs || (i < most_runs && nanoseconds_now() - begin < most_ns); ++i) {
    Trace trace;
    run({.bindings = bindings, .trace = &trace});
    const std::vector<StepTime> times = times_of(trace.events(), executable.steps().size());
    least.resize(times.size(), {.microseconds = std::numeric_limits<double>::infinity()});
    for (size_t k = 0; k < times.size(); ++k) {
      least[k] = times[k].microseconds < least[k].microseconds ? times[k] : least[k];
    }
  }
  return least;
}

std::vector<BoundStep> bind_steps(const Executable& executable, const Bindings& bindings,
                                  const std::vector<Array>* inputs) {
  std::vector<BoundStep> steps;
  for (const StepReport& step : executable.steps()) {
    steps.push_back({.bytes_read = evaluate(step.bytes_read, bindings),
                     .bytes_written = evaluate(step.bytes_written, bindings),
                     .flops = evaluate(step.flops, bindings)});
  }
  if (inputs != nullptr) {
    const std::vector<StepTime> times =
        step_times(executable, [&](const RunOptions& options) { executable.run(*inputs, options); }, bindings);
    for (size_t i = 0; i < steps.size(); ++i) {
      steps[i].microseconds = times[i].microseconds;
      steps[i].threads = times[i].threads;
    }
  }
  return steps;
}

const PipelineReport* tiles_of(const std::vector<PipelineReport>& reports, size_t step) {
  const auto found = std::ranges::find_if(reports, [&](const PipelineReport& report) {
    const auto at = static_cast<int>(step);
    return report.tiled && at >= report.first_step && at < report.first_step + report.steps;
  });
  return found == reports.end() ? nullptr : &*found;
}

namespace {

/// What the roofs say of a step.
void add_limit(const roofs::StepWork& work, const roofs::Limit& limit, const roofs::Roofs& roofs, Json& to) {
  to.set("limit_microseconds", limit.seconds * 1e6).set("limited_by", limit.by);
  Json from = Json::object();
  for (size_t level = 0; level < limit.bytes.size(); ++level) {
    from.set(roofs.levels[level].name, limit.bytes[level]);
  }
  to.set("touched_bytes", work.all_bytes()).set("bytes_from", from);
}

/// What is known of a step at all sizes; `at` counts from 0, `number` is what people call it.
Json step_json(const StepReport& report, size_t at, const std::string& number) {
  Json step = Json::object();
  step.set("step", at + 1);
  if (number != std::to_string(at + 1)) {
    step.set("number", number);  // of a step inside of another
  }
  step.set("kind", name(report.kind)).set("operators", report.label);
  if (!report.nodes.empty()) {
    step.set("nodes", Json(report.nodes));
  }
  if (report.region_steps > 1) {
    step.set("region_first", report.region_first + 1).set("region_steps", report.region_steps);
    step.set("region_end", report.region_end);
  }
  step.set("boundary", report.boundary).set("parts", report.parts).set("phases", report.phases);
  step.set("integer_products", report.integer_products);
  step.set("bytes_read", report.bytes_read.to_string()).set("bytes_written", report.bytes_written.to_string());
  step.set("flops", report.flops.to_string());
  if (!report.bodies.empty()) {
    Json bodies = Json::array();
    for (size_t b = 0; b < report.bodies.size(); ++b) {
      const BodyReport& body = report.bodies[b];
      Json inside = Json::array();
      for (size_t i = 0; i < body.steps.size(); ++i) {
        inside.push(step_json(body.steps[i], i, number_inside(number, report.bodies.size(), b, i)));
      }
      bodies.push(Json::object().set("name", body.name).set("steps", inside));
    }
    step.set("bodies", bodies);
  }
  return step;
}

}  // namespace

Json steps_json(const Executable& executable, const std::vector<BoundStep>& bound, const Roofline& roofline) {
  Json steps = Json::array();
  for (size_t i = 0; i < executable.steps().size(); ++i) {
    Json step = step_json(executable.steps()[i], i, std::to_string(i + 1));
    if (!bound.empty()) {
      Json at = Json::object();
      at.set("bytes_read", bound[i].bytes_read).set("bytes_written", bound[i].bytes_written);
      at.set("flops", bound[i].flops);
      if (bound[i].microseconds >= 0) {
        at.set("microseconds", bound[i].microseconds).set("threads", bound[i].threads);
      }
      if (!roofline.works.empty()) {
        at.set("arithmetic", roofline.works[i].all_operations());
      }
      if (roofline.known()) {
        add_limit(roofline.works[i], roofline.limits[i], roofline.roofs, at);
      }
      step.set("bound", at);
    }
    steps.push(step);
  }
  return steps;
}

Json pipelines_json(const std::vector<PipelineReport>& reports) {
  Json all = Json::array();
  for (const PipelineReport& report : reports) {
    Json json = Json::object();
    json.set("first_step", report.first_step + 1).set("steps", report.steps).set("tiled", report.tiled);
    json.set("reason", report.reason).set("tiles", report.tiles).set("rows", report.rows).set("strips", report.strips);
    all.push(json.set("window_bytes", report.window_bytes).set("kept_bytes", report.kept_bytes));
  }
  return all;
}

Json ports_json(const std::vector<Port>& ports) {
  Json json = Json::array();
  for (const Port& port : ports) {
    json.push(Json::object().set("name", port.name).set("shape", port.shape.to_string()));
  }
  return json;
}

Json loops_json(const compiler::Lowered& lowered, const Executable& executable) {
  constexpr size_t kMostStepsWithLoops = 400;
  const std::vector<StepReport>& steps = executable.steps();
  Json loops = Json::array();
  for (size_t i = 0; i < steps.size() && steps.size() <= kMostStepsWithLoops; ++i) {
    const bool has_loops = steps[i].kind == StepKind::kernel || steps[i].kind == StepKind::copy;
    loops.push(has_loops ? Json(compiler::step_loops(lowered, static_cast<int64_t>(i) + 1)) : Json());
  }
  return loops;
}

}  // namespace tenon::report
