#include "tensor/realize/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/file.h"
#include "report/explain_page.h"
#include "report/json.h"
#include "report/model_report.h"
#include "tenon/error.h"
#include "tenon/explain.h"
#include "tenon/machine.h"
#include "tensor/realize/log.h"
#include "tensor/realize/realize.h"
#include "tensor/record/user_lines.h"

namespace tenon::tensors {

/// One program of an explanation, at the sizes of its last run.
struct ExplainedProgram {
  std::shared_ptr<const Program> program;
  std::optional<compiler::Lowered> made_again = {};  // where it was compiled before anybody explained
  report::Figures figures = {};

  const compiler::Lowered* lowered() const {
    return program->lowered ? program->lowered.get() : made_again ? &*made_again : nullptr;
  }
};

struct Explained {
  struct Run {
    Realization what;
    std::optional<size_t> program;  // of `programs`; nothing where it is no longer kept
  };
  std::vector<Run> runs;
  std::vector<ExplainedProgram> programs;
};

Bindings bindings_of_run(const Executable& executable, const std::vector<Array>& inputs, const Bindings& more) {
  Bindings bindings = more;
  const std::vector<Port>& ports = executable.inputs();
  for (size_t i = 0; i < std::min(ports.size(), inputs.size()); ++i) {
    for (int axis = 0; axis < ports[i].shape.rank(); ++axis) {
      const auto name = ports[i].shape.extent(axis).as_name();
      if (name && !bindings.find(*name)) {
        bindings.set(*name, inputs[i].dims()[static_cast<size_t>(axis)]);
      }
    }
  }
  return bindings;
}

namespace {

/// The graph with its schedule, made again; nothing where that is not what runs, as of a program in which weights are
/// constants.
std::optional<compiler::Lowered> make_again(const Program& program) {
  if (program.graph == Graph()) {
    return {};
  }
  CompileReport report;
  compiler::Lowered lowered = compiler::lower(program.graph, compile_options(), report);
  if (lowered.steps().size() != program.executable.steps().size()) {
    return {};
  }
  return lowered;
}

report::Figures figures_of(const ExplainedProgram& of, const Bindings& bindings, std::vector<TraceEvent> events) {
  report::Figures figures{.bindings = bindings, .events = std::move(events)};
  const Executable& executable = of.program->executable;
  try {
    figures.steps = report::bind_steps(executable, bindings, nullptr);
    report::add_times(figures.events, figures.steps);
    const compiler::Lowered* const lowered = of.lowered();
    if (lowered != nullptr && !lowered->machine.is_gpu()) {
      figures.roofline.works = report::works_of(*lowered, executable, bindings);
      if (!figures.events.empty() && lowered->machine == this_machine()) {
        figures.roofline = report::roofline_of(std::move(figures.roofline.works), figures.steps);
      }
    }
  } catch (const Error&) {  // a size that data decided: the program as it is, without figures
    return {};
  }
  return figures;
}

std::shared_ptr<const Explained> explained(std::span<const KeptRun> runs) {
  auto result = std::make_shared<Explained>();
  std::map<const Program*, size_t> known;
  std::vector<const KeptRun*> last;  // run of each program, one with times before others
  for (const KeptRun& run : runs) {
    Explained::Run& told = result->runs.emplace_back(Explained::Run{.what = run.what, .program = std::nullopt});
    const std::shared_ptr<const Program> program = run.program.lock();
    if (program == nullptr) {
      continue;
    }
    const auto [at, fresh] = known.emplace(program.get(), result->programs.size());
    if (fresh) {
      result->programs.push_back({.program = program});
      last.push_back(&run);
    } else if (!run.events.empty() || last[at->second]->events.empty()) {
      last[at->second] = &run;
    }
    told.program = at->second;
  }
  for (size_t i = 0; i < result->programs.size(); ++i) {
    ExplainedProgram& each = result->programs[i];
    if (each.program->lowered == nullptr) {
      each.made_again = make_again(*each.program);
    }
    each.figures = figures_of(each, last[i]->bindings, last[i]->events);
  }
  return result;
}

report::Json program_json(const ExplainedProgram& of, bool for_page) {
  const Executable& executable = of.program->executable;
  const compiler::Lowered* const lowered = of.lowered();
  return for_page && lowered != nullptr ? report::page_data(*lowered, executable, of.figures)
                                        : report::model_json(executable, of.figures);
}

report::Json json_of(const Explained& all, bool for_page) {
  report::Json runs = report::Json::array();
  for (const Explained::Run& run : all.runs) {
    const Realization& what = run.what;
    report::Json one = report::Json::object();
    one.set("reason", what.reason).set("place", what.place).set("tensors", what.tensors).set("writes", what.writes);
    one.set("operations", what.operations).set("kernels", what.kernels).set("compiled", what.compiled);
    one.set("why", what.why).set("weights", what.weights).set("laid_out", what.laid_out);
    one.set("compile_ms", what.compile_ms).set("milliseconds", what.milliseconds);
    runs.push(one.set("program", run.program ? report::Json(*run.program) : report::Json()));
  }
  report::Json programs = report::Json::array();
  for (const ExplainedProgram& each : all.programs) {
    programs.push(program_json(each, for_page));
  }
  return report::Json::object().set("realizations", runs).set("programs", programs);
}

std::string text_of(const Realization& what) {
  std::string text =
      fmt::format("{}{}{}: {} operations in {} kernels, {:.3f} ms", what.reason, what.place.empty() ? "" : " at ",
                  what.place, what.operations, what.kernels, what.milliseconds);
  if (what.compiled) {
    text += fmt::format(", {:.1f} of it to compile", what.compile_ms);
  }
  return text + (what.why.empty() ? "" : fmt::format("\n  compiled again: {}", what.why)) + '\n';
}

}  // namespace
}  // namespace tenon::tensors

namespace tenon {

Explaining::Explaining() {
  if (!tensors::keeps_lines()) {
    clear_programs();  // those that know no lines
  }
  tensors::count_explaining(1);
}

Explaining::~Explaining() { tensors::count_explaining(-1); }

std::string Explanation::text() const {
  std::string text;
  for (const tensors::Explained::Run& run : of_->runs) {
    text += tensors::text_of(run.what);
  }
  for (size_t i = 0; i < of_->programs.size(); ++i) {
    const tensors::ExplainedProgram& each = of_->programs[i];
    text += fmt::format("\nprogram {} of {}: {}", i + 1, of_->programs.size(), each.program->executable.explain());
  }
  return text.empty() ? "nothing ran: all elements are known\n" : text;
}

std::string Explanation::json() const { return tensors::json_of(*of_, false).to_string(); }

std::string Explanation::html(const std::string& title) const {
  const size_t runs = of_->runs.size();
  const size_t programs = of_->programs.size();
  return report::explain_page({.title = title,
                               .lead = fmt::format("{} realization{}, {} program{}", runs, runs == 1 ? "" : "s",
                                                   programs, programs == 1 ? "" : "s"),
                               .data = tensors::json_of(*of_, true)});
}

void Explanation::save(const std::filesystem::path& page) const {
  const std::string text = html(page.stem().string());
  NewFile file(page.string());
  file.write(std::as_bytes(std::span(text)));
  file.put_in_place(false);
}

Explanation Explanation::with_graph(const Graph& graph, std::string reason, std::string place,
                                    const std::vector<Array>& inputs) const {
  auto more = std::make_shared<tensors::Explained>(*of_);
  const Explaining now;
  tensors::ExplainedProgram of{.program =
                                   tensors::compile_program(graph, std::vector<int>(graph.outputs().size(), -1), {})};
  const Executable& executable = of.program->executable;
  Realization what{.reason = std::move(reason), .place = std::move(place), .kernels = of.program->kernels};
  if (!inputs.empty()) {
    executable.run(inputs);  // the first run has pages to touch
    Trace trace;
    const int64_t start = trace.now_ns();
    executable.run(inputs, {.trace = &trace});
    what.milliseconds = static_cast<double>(trace.now_ns() - start) / 1e6;
    of.figures = tensors::figures_of(of, tensors::bindings_of_run(executable, inputs, {}), trace.events());
  }
  more->runs.push_back({.what = std::move(what), .program = more->programs.size()});
  more->programs.push_back(std::move(of));
  return Explanation(std::move(more));
}

Explanation explain_realizations(size_t most) {
  const std::vector<tensors::KeptRun> runs = tensors::kept_runs();
  return Explanation(tensors::explained(std::span(runs).last(std::min(most, runs.size()))));
}

Explanation explain(const std::vector<Tensor>& tensors, std::source_location where) {
  const Explaining now;
  const auto before = realization_counts().runs;
  tensors::realize_tensors(tensors, "explain()", where);
  return explain_realizations(static_cast<size_t>(realization_counts().runs - before));
}

Explanation Tensor::explain(Where where) const { return tenon::explain({*this}, where); }

}  // namespace tenon
