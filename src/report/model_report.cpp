#include "report/model_report.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "compiler/inspect.h"
#include "report/graph_json.h"
#include "report/hot_loop.h"
#include "report/memory.h"
#include "report/run_stats.h"
#include "report/run_timeline.h"
#include "report/tile_lines.h"
#include "tenon/error.h"

namespace tenon::report {
namespace {

/// Making it takes time, and a page that has all of it would be large.
constexpr size_t kMostAssembled = 64;
constexpr size_t kMostAssemblyBytes = size_t{3} << 20;

/// Of the steps that take longest: their text, and the lines of the loop that computes most. Null for others.
Json assembly_json(const compiler::Lowered& lowered, const Executable& executable, const Figures& figures) {
  const std::vector<StepReport>& steps = executable.steps();
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!figures.steps.empty()) {
    std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return figures.steps[i].microseconds; });
  }
  std::vector<Json> of(steps.size());
  size_t made = 0;
  size_t bytes = 0;
  for (const size_t i : order) {
    if (made == kMostAssembled || bytes >= kMostAssemblyBytes) {
      break;
    }
    if (steps[i].kind != StepKind::kernel && steps[i].kind != StepKind::copy) {
      continue;
    }
    std::string text;
    try {
      text = compiler::step_assembly(lowered, static_cast<int64_t>(i) + 1);
    } catch (const Error&) {
      continue;  // a build without LLVM, or a step without a kernel of its own: the page shows the loops
    }
    of[i] = Json::object().set("text", text);
    if (const auto loop = hot_loop(text)) {
      of[i].set("hot", Json::array().push(loop->first).push(loop->last));
    }
    ++made;
    bytes += text.size();
  }
  return of;
}

}  // namespace

Json model_json(const Executable& executable, const Figures& figures) {
  Json json = Json::object();
  json.set("model", figures.title.empty() ? executable.name() : figures.title)
      .set("kernels", executable.kernel_count());
  json.set("copies", executable.copy_count());
  json.set("inputs", ports_json(executable.inputs())).set("outputs", ports_json(executable.outputs()));
  json.set("steps", steps_json(executable, figures.steps, figures.roofline));
  if (figures.has_sizes()) {
    const MemoryReport memory = executable.memory(figures.bindings);
    json.set("bindings", figures.bindings.to_string());
    if (figures.roofline.known()) {
      json.set("roofs", roofs_json(figures.roofline));
    }
    json.set("pipelines", pipelines_json(executable.pipelines(figures.bindings)));
    json.set("memory", Json::object()
                           .set("arena_bytes", memory.arena_bytes)
                           .set("intermediate_bytes", memory.intermediate_bytes)
                           .set("output_bytes", memory.output_bytes));
  }
  return json;
}

Json page_data(const compiler::Lowered& lowered, const Executable& executable, const Figures& figures) {
  Json data = model_json(executable, figures);
  data.set("graph", graph_json(lowered, executable));
  data.set("loops", loops_json(lowered, executable));
  data.set("assembly", assembly_json(lowered, executable, figures));
  if (figures.has_sizes()) {
    data.set("tiles", Json(tile_lines(executable.pipelines(figures.bindings))));
    data.set("stats", run_stats_json(executable));  // before other sizes are prepared, for the curves of memory
    data.set("timeline", memory_json(memory_at_sizes(executable, figures.bindings)));
    data.set("run", run_timeline_json(figures.events));
  }
  return data;
}

}  // namespace tenon::report
