// `tenon run`: a model on data, once compiled.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/fail.h"
#include "cli/mesh/mesh_ranks.h"
#include "cli/mesh/pipeline_ranks.h"
#include "cli/mesh/run_mesh.h"
#include "cli/models/files.h"
#include "cli/models/kept_model.h"
#include "cli/models/output_files.h"
#include "cli/models/program_file.h"
#include "cli/models/stateful_run.h"
#include "cli/print/cost.h"
#include "cli/print/interrupt.h"
#include "cli/print/run_stats.h"
#include "cli/print/stopwatch.h"
#include "cli/print/summary.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/verb.h"
#include "cli/words/compile_options.h"
#include "cli/words/donation.h"
#include "cli/words/inputs.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

constexpr Option kRunOptions[] = {
    {"--bind", "NAME=SIZE,...", "sizes of axes; files give theirs, built-in models have usual ones"},
    {"--input", "NAME=SOURCE", "a .npy file, `random` (the default), `zeros` or `ones`; without NAME=, for all inputs",
     true},
    {"--output", "DIR", "write each output to DIR/NAME.npy; bf16 as f32, which numpy has"},
    {"--repeat", "N", "run N times after the first run and give the median (default 1)"},
    {"--threads", "N", "at most N threads; results are the same for any N"},
    {"--flush-denormals", "", "take numbers too small for full precision for 0: faster where there are many"},
    kDevice,
    kDonate,
    kNoPipelines,
    kNoWinograd,
    kPipelineRows,
    kStatsOption,
    {"--trace", "FILE.json", "write what the last run did and when, for Chrome's and Perfetto's viewers", false, true},
    kNoCacheOption,
    kWeights,
    kPrecision,
    kMesh,
    kShard,
    kRanks,
    kMeshPatience,
    kNetwork,
    kPipeline,
    kLongOption,
};

constexpr Example kRunExamples[] = {
    {"run bert_base --bind batch=8,seq=77", "a built-in model at some sizes"},
    {"run model.onnx --input ids=ids.npy --output out", "a file on data; outputs to out/*.npy"},
    {"run examples/softmax.graph --bind row=2,col=9 --json", "for programs"},
    {"run resnet18 --bind height=97,width=130 --repeat 20", "any size is as good as another"},
    {"run mlp --mesh data=2 --shard batch=data --ranks threads", "in parts, by two ranks: see docs/mesh.md"},
    {"run decoder.onnx --donate auto --bind batch=1,seq=1,past=8,capacity=64", "caches are updated in place"},
};

struct Times {
  double load = 0, compile = 0;
  bool is_kept = false;  // from an earlier call
  FirstRun first;
  Samples repeated;
};

std::vector<std::string> names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) {
    names.push_back(port.name);
  }
  return names;
}

Json array_json(const std::string& name, const Shape& declared, const Array& value) {
  return Json::object()
      .set("name", name)
      .set("shape", declared.to_string())
      .set("dtype", tenon::name(value.dtype()))
      .set("dims", value.dims());
}

void print_run_json(const std::string& model, const PreparedInputs& prepared, const std::vector<Array>& outputs,
                    const Executable& executable, const Times& times, bool stats) {
  Json inputs = Json::array();
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    const NamedArray& input = prepared.inputs[i];
    inputs.push(array_json(input.name, executable.inputs()[i].shape, input.value).set("source", input.source));
  }
  Json results = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port& output = executable.outputs()[i];
    results.push(array_json(output.name, output.shape, outputs[i]).set("summary", Summary(outputs[i]).to_json()));
  }
  Json sizes = Json::object();
  for (const auto& [name, size] : prepared.bindings) {
    sizes.set(name, size);
  }
  Json us = Json::object();
  us.set("load", times.load)
      .set("compile", times.compile)
      .set("specialize", times.first.specialize)
      .set("first", times.first.run);
  us.set("median", times.repeated.median()).set("least", times.repeated.least());
  const RunCounters counted = executable.counters();
  Json counters = Json::object();
  counters.set("runs", counted.runs)
      .set("tiles", counted.tiles)
      .set("kept_bytes", counted.kept_bytes)
      .set("waiting_us", counted.waiting_ms * 1e3);
  Json json = Json::object();
  json.set("model", model)
      .set("bindings", sizes)
      .set("inputs", inputs)
      .set("outputs", results)
      .set("kernels", executable.kernel_count())
      .set("code", executable.capabilities().code)
      .set("kept", times.is_kept)
      .set("microseconds", us)
      .set("counters", counters)
      .set("repeats", times.repeated.times.size());
  if (stats) {
    json.set("stats", run_stats_json(executable));
  }
  json.print();
}

/// The declared shape with the sizes that came out, which for axes that data decide nobody knew before.
Shape shape_of(const Shape& declared, const Array& value) {
  std::vector<Axis> axes;
  for (int i = 0; i < declared.rank(); ++i) {
    axes.push_back(Axis::named(declared.axis(i).name(), value.dims()[static_cast<size_t>(i)]));
  }
  return declared.with_axes(std::move(axes));
}

/// One line of the table of inputs and outputs.
struct PortRow {
  std::string_view word;
  std::string name, shape, remark;
};

void print_run_text(const std::string& model, const PreparedInputs& prepared, const std::vector<Array>& outputs,
                    const Executable& executable, const Times& times, bool stats) {
  const std::string sizes = prepared.bindings.to_string();
  fmt::print("{}{}{}\n", bold(printable(model)), sizes.empty() ? "" : " at ", sizes);
  std::vector<PortRow> rows;
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    rows.push_back({"in", prepared.inputs[i].name, resolve(executable.inputs()[i].shape, prepared.bindings).to_string(),
                    prepared.inputs[i].source});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port& output = executable.outputs()[i];
    rows.push_back(
        {"out", output.name, shape_of(output.shape, outputs[i]).to_string(), Summary(outputs[i]).to_string()});
  }
  size_t name_width = 0;
  size_t shape_width = 0;
  for (PortRow& row : rows) {
    row = {row.word, printable(row.name), printable(row.shape), printable(row.remark)};
    name_width = std::max(name_width, row.name.size());
    shape_width = std::max(shape_width, row.shape.size());
  }
  for (const PortRow& row : rows) {
    fmt::print("  {:<4}{:<{}}  {:<{}}  {}\n", row.word, row.name, name_width, row.shape, shape_width, row.remark);
  }
  const bool is_compiled = times.compile > 0;
  const size_t steps = executable.steps().size();
  fmt::print("  {:<10}  {:>10}   {} step{}, {}{}\n", is_compiled ? "compile" : "load",
             time_text(is_compiled ? times.compile : times.load), steps, steps == 1 ? "" : "s",
             executable.capabilities().code, times.is_kept ? ", kept from an earlier run" : "");
  fmt::print("  specialise  {:>10}   once for these sizes\n", time_text(times.first.specialize));
  fmt::print("  first run   {:>10}   its memory is touched for the first time\n", time_text(times.first.run));
  const size_t count = times.repeated.times.size();
  fmt::print("  later runs  {:>10}   {}\n", time_text(times.repeated.median()),
             count == 1 ? "one run; --repeat N for the median of N"
                        : fmt::format("median of {}, least {}", count, time_text(times.repeated.least())));
  if (stats) {
    fmt::print("{}", run_stats_text(executable));
  }
}

/// What is run: a graph that is compiled first, or a program that was built before.
struct Subject {
  std::string name;
  PreparedInputs prepared;
  std::vector<int> aliases;
  std::optional<Executable> executable;
  std::shared_ptr<KeptModel> to_keep = {};  // when the answer was given
};

Subject opened(const std::string& word, ProgramFile file, PreparedInputs prepared, Times& times) {
  times.load = file.load_us;
  return {.name = title_of(word),
          .prepared = std::move(prepared),
          .aliases = file.aliases(),
          .executable = std::move(file.executable)};
}

Subject open_subject(const Arguments& arguments, const Progress& progress, Times& times) {
  const std::string& word = arguments.rest()[0];
  const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
  if (is_program_file(word)) {
    require_no_compile_options(arguments);
    ProgramFile file = open_program(word);
    PreparedInputs prepared = prepare_inputs(ports_of(file.info), bound, arguments.all("--input"));
    return opened(word, std::move(file), std::move(prepared), times);
  }
  CompileOptions compile_options;
  take_compile_options(arguments, compile_options);
  const auto kept = std::make_shared<KeptModel>(word, arguments, compile_options);
  if (std::optional<ProgramFile> file = kept->open()) {
    PreparedInputs prepared =
        prepare_inputs(ports_of(file->info), bound, arguments.all("--input"),
                       [&](const Bindings& sizes) { return times.is_kept = !KeptModel::is_long(file->info, sizes); });
    if (times.is_kept) {
      return opened(word, *std::move(file), std::move(prepared), times);
    }
  }
  GraphModel model;
  times.load = microseconds([&] {
    model = with_donations(arguments,
                           load_model(word, {.weights = true, .inputs = arguments.all("--input"), .sizes = bound}));
  });
  Subject subject{.name = model.graph.name(),
                  .prepared = prepare_inputs(ports_of(model), bound, arguments.all("--input"),
                                             [&](const Bindings& sizes) {
                                               announce_cost(CostModel(model.graph), sizes, arguments);
                                               return true;
                                             }),
                  .aliases = StatefulRun::aliases_of(model.graph),
                  .executable = {},
                  .to_keep = kept};
  progress.show("compiling");
  times.compile = microseconds([&] { subject.executable = kept->compile(std::move(model)); });
  return subject;
}

int run_run(const Arguments& arguments) {
  if (arguments.has(kMesh.name) || is_mesh_program(arguments.rest()[0])) {
    return run_on_mesh(arguments);
  }
  require_mesh_for_its_options(arguments);
  Times times;
  const Progress progress;
  progress.show("loading");
  const Subject subject = open_subject(arguments, progress, times);
  const auto& [name, prepared, aliases, executable, to_keep] = subject;
  progress.show("running");
  StatefulRun state(*executable, aliases, prepared.arrays());
  RunOptions options{.threads = static_cast<int>(arguments.find_number("--threads", 1).value_or(0)),
                     .bindings = prepared.bindings,
                     .flush_denormals = arguments.has("--flush-denormals"),
                     .results_on_device = true};
  std::vector<Array> outputs;
  {
    const InterruptibleRun interruptible;
    RunOptions first = options;
    first.cancel = InterruptibleRun::token();
    times.first = first_run(*executable, prepared.bindings, [&] { outputs = state(first); });
  }
  const auto repeat = static_cast<size_t>(arguments.find_number("--repeat", 1).value_or(1));
  if (std::ranges::any_of(aliases, [](int input) { return input >= 0; })) {
    state(options);  // what the first run gave is kept, so that this one copies its state: later ones do not
  }
  times.repeated = sample([&] { state(options); }, repeat, 0);
  if (const auto file = arguments.find("--trace")) {
    Trace trace;
    options.trace = &trace;
    state(options);
    write_text(*file, trace.to_json());
  }
  for (Array& output : outputs) {
    output = executable->to_cpu(output);
  }
  progress.show("");
  if (const auto folder = arguments.find("--output")) {
    write_outputs(arguments, *folder, names_of(executable->outputs()), outputs);
  }
  (arguments.has("--json") ? print_run_json : print_run_text)(name, prepared, outputs, *executable, times,
                                                              arguments.has("--stats"));
  std::fflush(stdout);
  if (to_keep) {
    to_keep->keep();
  }
  return 0;
}

}  // namespace

const Verb kRunVerb{
    .name = "run",
    .words = "MODEL",
    .doc = "run a model on files or made-up data, and say what came out and how long it took",
    .about =
        "Prints inputs and outputs with named shapes, a summary of each output, and the times to compile (once for "
        "all sizes), to specialise (once for these sizes) and to run. Tiles of steps that run piece by piece are "
        "chosen "
        "beside the first run, and used by later ones.",
    .options = kRunOptions,
    .examples = kRunExamples,
    .run = run_run};

}  // namespace tenon::cli
