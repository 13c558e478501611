// `tenon explain`: how a graph was compiled.
#include "runtime/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "backend/backend.h"
#include "base/fail.h"
#include "cli/explain/explain_memory.h"
#include "cli/explain/explain_passes.h"
#include "cli/explain/explain_pictures.h"
#include "cli/explain/explain_steps.h"
#include "cli/explain/explain_two.h"
#include "cli/explain/explain_why.h"
#include "cli/explain/roofline.h"
#include "cli/mesh/explain_mesh.h"
#include "cli/mesh/mesh_ranks.h"
#include "cli/models/load_trainable.h"
#include "cli/models/model_ports.h"
#include "cli/models/program_file.h"
#include "cli/print/terminal.h"
#include "cli/verb.h"
#include "cli/words/compile_options.h"
#include "cli/words/donation.h"
#include "cli/words/inputs.h"
#include "cli/words/machine.h"
#include "compiler/inspect.h"
#include "report/model_report.h"
#include "shape/constraint_check.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

constexpr int64_t kMostConstantElements = 8;

constexpr Option kExplainOptions[] = {
    {"--bind", "NAME=SIZE,...", "also bytes, FLOPs and time of each step at these sizes, and what limits it"},
    {"--train", "", "one step of training instead of the model: batch statistics, loss, gradients, optimiser"},
    {"--loss", "LOSS", "with --train: cross_entropy (the default for logits), mse (else), ...: see `tenon train`"},
    {"--optimizer", "sgd|momentum|adam|adamw", "with --train: what moves the weights (default adam)"},
    {"--svg", "FILE.svg", "also write a picture of the graph, kernels as hulls (needs Graphviz)", false, true},
    {"--html", "FILE.html", "also write a page: the picture to zoom, search and fold, steps, memory", false, true},
    {"--dot", "FILE.dot", "also write the picture in Graphviz's language", false, true},
    {"--memory", "", "where memory goes from the first step to the last instead, at the sizes of --bind"},
    {"--why", "OPERATOR",
     "why OPERATOR and the second word are not one kernel instead: steps, nodes of the model, operators"},
    {"--diff", "MODEL", "this model and another side by side instead, or what an earlier `--json` printed of them"},
    {"--diff-with", "OPTIONS", "the same with other options of this verb for the second: '--no-fuse'"},
    {"--passes", "", "the passes with their times instead, and whether they changed the graph"},
    {"--after", "PASS", "the graph after this pass instead; PASS:2 after its second run"},
    {"--kernel", "N", "the loops of step N instead"},
    {"--asm", "N", "the assembly of step N instead"},
    {"--machine", "MACHINE", "for another machine than this: x86-64-v3, armv8.2, ..., or a file with one"},
    {"--target", "MACHINE", "an older name of --machine"},
    {"--no-fuse", "", "every operation as a kernel of its own"},
    {"--mesh", "NAME=N,...", "how the model lies on a mesh of ranks instead: every tensor, what is sent and why"},
    kShard,
    kNetwork,
    kDevice,
    kDonate,
    kNoPipelines,
    kNoWinograd,
    kPipelineRows,
    {"--skip", "PASS,...", "leave these passes out"},
    kNoCacheOption,
    kWeights,
    kPrecision,
};

constexpr Example kExplainExamples[] = {
    {"explain mlp", "what runs, and why it is not fewer kernels"},
    {"explain bert_base --bind batch=8,seq=128", "and how much each step moves and computes"},
    {"explain mobilenet_v2 --memory", "where memory goes, and what holds the peak"},
    {"explain examples/block.graph --html block.html", "a page with a picture"},
    {"explain examples/softmax.graph --kernel 1", "the loops of one step"},
    {"explain examples/softmax.graph --asm 1 --machine armv8.2", "the assembly, for another machine"},
    {"explain resnet18 --passes", "where the time to compile goes"},
    {"explain mlp --why 1 2", "which rule tried to join two steps, and what it found"},
    {"explain mlp --after recognize_composites", "the graph in the middle of it"},
    {"explain mlp --diff-with=--no-fuse --bind batch=8", "what fusion is worth: steps, bytes and times side by side"},
    {"explain new.json --diff old.json", "what changed between two versions, from what each printed"},
    {"explain mlp --mesh data=2 --shard batch=data", "which rank has what, and what ranks send to each other"},
    {"explain resnet18 --train --optimizer momentum", "a whole training step"},
};

/// What is shown in place of the list of steps: one at most, and nothing that belongs to the list.
constexpr std::string_view kViews[] = {"--diff",  "--memory", "--why", "--passes",
                                       "--after", "--kernel", "--asm", "--mesh"};
constexpr std::string_view kOfSteps[] = {"--bind", "--svg", "--html", "--dot"};

bool is_diff(const Arguments& arguments) { return arguments.has("--diff") || arguments.has("--diff-with"); }

void check(const Arguments& arguments) {
  std::vector<std::string_view> given;
  std::ranges::copy_if(kViews, std::back_inserter(given), [&](std::string_view view) {
    return view == "--diff" ? is_diff(arguments) : arguments.has(view);
  });
  if (given.size() > 1) {
    fail("`{}` and `{}` cannot be shown at once", given[0], given[1]);
  }
  const std::vector<std::string>& words = arguments.rest();
  if (!arguments.has("--why") && words.size() > 1) {
    fail("what is `{}`? A second operator stands behind `--why A`: `tenon explain {} --why 1 2`", words[1], words[0]);
  }
  if (arguments.has("--why") && words.size() < 2) {
    fail("`--why` takes two operators or steps: `tenon explain {} --why 1 2`", words[0]);
  }
  if (arguments.has("--why") && arguments.has("--no-fuse")) {
    fail("`--why` asks what rules found, and with `--no-fuse` none is tried: leave one of them out");
  }
  for (const std::string_view option : {"--loss", "--optimizer"}) {
    if (arguments.has(option) && !arguments.has("--train")) {
      fail("`{}` is for `--train`", option);
    }
  }
  for (const std::string_view option : kOfSteps) {
    const bool fits = !given.empty() && ((option == "--bind" && (given[0] == "--memory" || given[0] == "--diff")) ||
                                         (option == "--html" && given[0] == "--diff") ||
                                         ((option == "--bind" || option == "--html") && given[0] == "--mesh"));
    if (arguments.has(option) && !given.empty() && !fits) {
      fail("`{}` and `{}` cannot be shown at once", option, given[0]);
    }
  }
}

/// Text, or the same as the one member of an object.
int show(const Arguments& arguments, std::string_view what, const std::string& text) {
  if (arguments.has("--json")) {
    Json::object().set(what, text).print();
  } else {
    fmt::print("{}", text);
  }
  return 0;
}

int show_memory(const Arguments& arguments, const ModelPorts& ports, const Executable& executable, CodeOrigin origin) {
  const GivenSizes given = split_sizes(Bindings::parse(arguments.find("--bind").value_or("")), ports, executable);
  Bindings bindings = complete_bindings(ports, given.early);
  for (const auto& [name, size] : given.late) {
    bindings.set(name, size);
  }
  MemoryAtSizes memory = memory_at_sizes(executable, bindings);
  if (origin == CodeOrigin::file) {
    memory.title = title_of(arguments.rest()[0]);
  }
  if (arguments.has("--json")) {
    memory_json(memory).print();
  } else {
    fmt::print("{}", printable_lines(memory_text(memory, executable, origin)));
  }
  return 0;
}

/// `lowered` is null of a program that was built: then what steps compute is not known.
report::Figures bind_as_asked(const Arguments& arguments, const ModelPorts& ports, const Executable& executable,
                              const compiler::Lowered* lowered, bool may_be_timed) {
  report::Figures result;
  if (const auto sizes = arguments.find("--bind")) {
    const GivenSizes given = split_sizes(Bindings::parse(*sizes), ports, executable);
    const PreparedInputs prepared = prepare_inputs(ports, given.early, {"zeros"});
    result.bindings = prepared.bindings;
    for (const auto& [name, size] : given.late) {
      result.bindings.set(name, size);
    }
    const std::vector<Array> inputs = prepared.arrays();
    // What zeros decide are not the sizes that were asked for: no times then, nor of another machine.
    const bool timed = given.late.empty() && may_be_timed;
    result.steps = report::bind_steps(executable, result.bindings, timed ? &inputs : nullptr);
    if (lowered != nullptr && !lowered->machine.is_gpu()) {
      result.roofline.works = report::works_of(*lowered, executable, result.bindings);
      if (timed && !result.steps.empty() && lowered->machine == this_machine()) {
        const Progress progress;
        result.roofline = report::roofline_of(std::move(result.roofline.works), result.steps,
                                              {.keep = !arguments.has("--no-cache"), .before_measuring = [&] {
                                                 progress.show("measuring this machine's roofs");
                                               }});
      }
    }
    if (timed && arguments.has("--html")) {
      Trace trace;
      executable.run(inputs, {.bindings = result.bindings, .trace = &trace});
      result.events = trace.events();
    }
  }
  return result;
}

/// Of a program that was built: its title is its file's name.
report::Figures figures_of(const Arguments& arguments, const ProgramFile& file) {
  report::Figures figures = bind_as_asked(arguments, ports_of(file.info), file.executable, nullptr, true);
  figures.title = title_of(arguments.rest()[0]);
  return figures;
}

/// What `--json` prints. `model` is null where there is no graph.
Json explain_json(const GraphModel* model, const Executable& executable, const report::Figures& bound) {
  Json json = report::model_json(executable, bound);
  if (model != nullptr && !model->assumed.empty()) {
    json.set("assumed", assumed_json(*model));
  }
  return json;
}

/// Those inside of loops and conditionals, too.
int64_t library_steps(std::span<const StepReport> steps) {
  int64_t count = 0;
  for (const StepReport& each : steps) {
    count += each.kind == StepKind::library ? 1 : 0;
    for (const BodyReport& body : each.bodies)
      count += library_steps(body.steps);
  }
  return count;
}

std::string host_text(const compiler::Lowered* lowered, const Executable& executable) {
  if (lowered == nullptr || !lowered->machine.is_gpu()) return {};
  const int64_t count = library_steps(executable.steps());
  if (count == 0) return "all steps run on the GPU\n";
  return fmt::format(
      "{}: the host runs sorts, scatters, positions and long scans, with operands copied out and results back\n",
      count == 1 ? "1 step is of the library" : fmt::format("{} steps are of the library", count));
}

/// Of the model, where there is its graph.
void print_steps(const Arguments& arguments, const GraphModel* model, const compiler::Lowered* lowered,
                 const Executable& executable, const report::Figures& bound) {
  if (!arguments.has("--json")) {
    const std::string steps = runtime::explain(executable, bound.title.empty() ? executable.name() : bound.title);
    const bool is_model = model != nullptr;
    fmt::print("{}{}{}{}{}", printable_lines(steps), host_text(lowered, executable),
               is_model ? assumed_text(*model) : "",
               is_model && !arguments.has("--train") ? donations_text(model->graph) : "",
               !bound.has_sizes()
                   ? ""
                   : '\n' + printable_lines(bound_table(bound.steps, bound.roofline, executable, bound.bindings)));
    return;
  }
  explain_json(model, executable, bound).print();
}

int explain_steps(const Arguments& arguments, const GraphModel& model, const compiler::Lowered& lowered,
                  const Executable& executable) {
  const report::Figures bound = bind_as_asked(arguments, ports_of(model), executable, &lowered,
                                              lowered.machine == this_machine() || arguments.has(kDevice.name));
  write_pictures(arguments, lowered, executable, bound);  // may fail: then nothing is printed
  print_steps(arguments, &model, &lowered, executable, bound);
  return 0;
}

/// Of a program that was built: all that needs no graph.
int explain_program(const Arguments& arguments) {
  require_no_compile_options(arguments);
  for (const Option& option : kExplainOptions) {
    if (option.name != "--bind" && option.name != "--memory" && option.name != kDevice.name &&
        arguments.has(option.name)) {
      fail("`{}` needs the graph, which `{}` does not have: it is a program that was built; explain its model",
           option.name, arguments.rest()[0]);
    }
  }
  const ProgramFile file = open_program(arguments.rest()[0]);
  if (arguments.has("--memory")) {
    return show_memory(arguments, ports_of(file.info), file.executable, CodeOrigin::file);
  }
  print_steps(arguments, nullptr, nullptr, file.executable, figures_of(arguments, file));
  if (!arguments.has("--json") &&
      std::ranges::find(file.info.sections, "reasons", &ProgramFileSection::kind) == file.info.sections.end()) {
    fmt::print("  why steps end here is not in the file: it was built with `--strip`\n");
  }
  return 0;
}

GraphModel model_of(const Arguments& arguments) {
  const std::string& word = arguments.rest()[0];
  const Bindings sizes = Bindings::parse(arguments.find("--bind").value_or(""));
  return with_donations(arguments, !arguments.has("--train")
                                       ? load_model(word, {.weights = true, .sizes = sizes})
                                       : load_training_step(word, {.loss = arguments.find("--loss").value_or("")},
                                                            arguments.find("--optimizer").value_or("adam")));
}

CompileOptions options_of(const Arguments& arguments) {
  CompileOptions options{.fuse = !arguments.has("--no-fuse"), .skip = arguments.list("--skip")};
  options.machine = machine_of(arguments);
  take_compile_options(arguments, options);
  // The steps that run, with constants in panels as kernels read them: how wide these are decides what becomes one
  // kernel. Without a code generator there are none, and GPUs are described as the interpreter sees them.
  options.native = backend::has_native_code() || !options.machine.is_gpu();
  return options;
}

/// What `--json` prints of the steps of one model.
Json explained(const Arguments& arguments) {
  const std::string& word = arguments.rest()[0];
  if (is_program_file(word)) {
    const ProgramFile file = open_program(word);
    return explain_json(nullptr, file.executable, figures_of(arguments, file));
  }
  const GraphModel model = model_of(arguments);
  const CompileOptions options = options_of(arguments);
  const bool is_this = options.machine == this_machine() || arguments.has(kDevice.name);
  CompileReport report;
  const compiler::Lowered lowered = compiler::lower(model.graph, options, report);
  const compiler::CodeChoice code{.native = arguments.has("--bind") && is_this,
                                  .options = {.disk_cache = options.disk_cache}};
  const Executable executable = compile(lowered, code, report);
  return explain_json(&model, executable, bind_as_asked(arguments, ports_of(model), executable, &lowered, is_this));
}

int run_explain(const Arguments& arguments) {
  check(arguments);
  if (arguments.has(kMesh.name)) {
    return explain_mesh(arguments);
  }
  require_mesh_for_its_options(arguments);
  if (is_diff(arguments)) {
    return explain_two(arguments, {.read = explained, .check = check});
  }
  if (const std::string& word = arguments.rest()[0]; word.ends_with(".json")) {
    fail("`{}` is what `--json` printed of a model; `tenon explain {} --diff MODEL` holds a model against it", word,
         word);
  }
  if (is_program_file(arguments.rest()[0])) {
    return explain_program(arguments);
  }
  const GraphModel model = model_of(arguments);
  CompileReport report;
  const CompileOptions options = options_of(arguments);
  const auto loops_of = arguments.find_number("--kernel", 1);
  const auto assembly_of = arguments.find_number("--asm", 1);
  // Machine code says nothing about steps. It is made where time is asked for, which another machine's cannot be
  // measured here; where that is the time to make it, it is not taken from disk.
  const bool is_this = options.machine == this_machine() || arguments.has(kDevice.name);
  if (arguments.has("--passes") && !is_this) {
    fail(
        "`--passes` measures what compiling takes, and code is made here for this machine alone: leave `--machine` "
        "out");
  }
  const bool has_sizes = arguments.has("--bind") || arguments.has("--memory");
  const compiler::CodeChoice code{.native = arguments.has("--passes") || (has_sizes && is_this),
                                  .options = {.disk_cache = options.disk_cache && !arguments.has("--passes")}};
  std::optional<schedule::AttemptLog> log;
  if (arguments.has("--why")) {
    log.emplace();
  }
  const compiler::Lowered lowered = compiler::lower(model.graph, options, report);
  if (log) {
    return show_why(arguments, lowered, model.merged, *log);
  }
  if (loops_of) {
    return show(arguments, "loops", step_loops(lowered, *loops_of));
  }
  if (assembly_of) {
    return show(arguments, "assembly", step_assembly(lowered, *assembly_of));
  }
  if (const auto pass = arguments.find("--after")) {
    return show(arguments, "graph",
                to_text(graph_after(*pass, report.passes), {.max_constant_elements = kMostConstantElements}));
  }
  if (arguments.has("--passes")) {
    std::string no_code;
    int64_t kernels = 0;
    try {
      kernels = compile(lowered, code, report).kernel_count();
    } catch (const Error& error) {  // the code generator is not there: the passes ran all the same
      no_code = error.what();
    }
    print_passes(report, kernels, no_code, arguments.has("--json"));
    return 0;
  }
  const Executable executable = compile(lowered, code, report);
  if (arguments.has("--memory")) {
    return show_memory(arguments, ports_of(model), executable, CodeOrigin::compiled);
  }
  return explain_steps(arguments, model, lowered, executable);
}

}  // namespace

const Verb kExplainVerb{
    .name = "explain",
    .words = "MODEL [OPERATOR]",
    .doc = "show how a model was compiled: kernels, why they end, bytes, FLOPs, time, loops, assembly",
    .about =
        "Compiles MODEL and prints the steps that run it: the operators in each, the bytes it reads and writes, "
        "and why it ends where it does.",
    .options = kExplainOptions,
    .examples = kExplainExamples,
    .run = run_explain};

}  // namespace tenon::cli
