// `tenon build`: a model as a file that runs without a compiler.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>

#include "base/fail.h"
#include "build/embed_program.h"
#include "build/metadata_keys.h"
#include "cli/mesh/build_mesh.h"
#include "cli/mesh/mesh_ranks.h"
#include "cli/models/files.h"
#include "cli/models/model_ports.h"
#include "cli/models/program_file.h"
#include "cli/print/interrupt.h"
#include "cli/print/json.h"
#include "cli/print/stopwatch.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/verb.h"
#include "cli/words/compile_options.h"
#include "cli/words/donation.h"
#include "cli/words/inputs.h"
#include "cli/words/machine.h"
#include "ir/node.h"
#include "tenon/build_program.h"

namespace tenon::cli {
namespace {

constexpr Option kBuildOptions[] = {
    {"-o", "FILE.tenon", "where the program goes; NAME.tenon, named after the model or its file, where it is not said",
     false, true},
    {"--emit", "object|static|c", "no file to be loaded, but one to be linked into a program, and a header for C"},
    {"--machine", "MACHINE", "for another machine than this: x86-64-v3, armv8.2, ..., or a file with one", true},
    {"--bind", "NAME=SIZE,...", "sizes that are known: the program runs at these alone"},
    {"--input", "NAME=SOURCE", "the value of an input that decides a shape: it becomes part of the program", true},
    {"--strip", "", "leave out why steps end where they do"},
    {"--metadata", "KEY=VALUE", "what the file says of itself beside what it knows", true},
    kDonate,
    kNoPipelines,
    kNoWinograd,
    kPipelineRows,
    kNoCacheOption,
    kWeights,
    kPrecision,
    kMesh,
    kShard,
    kNetwork,
};

constexpr Example kBuildExamples[] = {
    {"build mlp -o mlp.tenon", "a built-in model; then `tenon run mlp.tenon`, on machines like this one"},
    {"build model.onnx --machine x86-64-v3 --machine x86-64-v4", "one file for two machines; the best one is taken"},
    {"build bert_base --weights i8 --strip", "small"},
    {"build resnet18 --bind batch=1 -o one.tenon", "for images one by one"},
    {"build mlp --mesh data=2 --shard batch=data -o parts.tenon", "for two ranks: then `mpirun -n 2 tenon run`"},
    {"build mlp --emit object -o mlp.o", "mlp.o and mlp.h, for a program that is linked with libtenon_run"},
    {"build examples/softmax.graph --machine armv8.2 -o arm.tenon", "made here, for another machine"},
};

/// Shows where a build is. Ctrl-C ends it at once, and, where it has begun to write, in good order: the file that it
/// began goes with it.
class BuildWatch {
 public:
  explicit BuildWatch(const Progress& line) : line_(line) {}

  void operator()(const BuildProgress& now) const {
    if (now.what == "writing" && !writes_) {
      writes_.emplace(Patience::any);
    }
    if (InterruptibleRun::token()->is_cancelled()) {
      throw Cancelled();
    }
    const std::string for_machine = now.machine.empty() ? "" : fmt::format(" for {}", now.machine);
    const std::string how_far = now.of == 0 ? ""
                                : now.what == "writing"
                                    ? fmt::format(": {} of {}", bytes_text(now.done), bytes_text(now.of))
                                    : fmt::format(": {} of {}", now.done, now.of);
    line_.show(fmt::format("{}{}{}", now.what, for_machine, how_far));
  }

 private:
  const Progress& line_;
  mutable std::optional<InterruptibleRun> writes_;
};

std::vector<Machine> machines_of(const Arguments& arguments) {
  std::vector<Machine> machines;
  for (const std::string& word : arguments.all("--machine")) {
    machines.push_back(machine_of(word));
  }
  return machines;
}

std::map<std::string, std::string> metadata_of(const Arguments& arguments, const GraphModel& model) {
  std::map<std::string, std::string> metadata = source_of(arguments, model);
  for (const std::string& word : arguments.all("--metadata")) {
    const size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos) {
      fail("`--metadata {}` is no KEY=VALUE", word);
    }
    const std::string key = word.substr(0, equals);
    require_own_key(key);
    if (!metadata.emplace(key, word.substr(equals + 1)).second) {
      fail("`--metadata {}`: `{}` was given before, as `{}`", word, key, metadata.at(key));
    }
  }
  return metadata;
}

/// What `--input` says of inputs that the program takes in each run is not for this verb.
void check_inputs(const std::vector<std::string>& words, const GraphModel& model) {
  std::vector<std::string> names = model.decided;
  for (const Value& input : model.graph.inputs()) {
    names.push_back(input.node().as<Input>()->name);
  }
  for (const std::string& word : words) {
    if (word == "random" || word == "zeros" || word == "ones") {
      fail("`--input {}`: a program takes its inputs when it runs; NAME=SOURCE is for one whose value decides a shape",
           word);
    }
    const auto [name, source] = parse_source("--input", word, names);
    if (source.ends_with(".npy") && !std::filesystem::exists(source)) {
      fail("`--input {}`: there is no file `{}`", word, source);
    }
    const bool is_part = std::ranges::find(model.decided, name) != model.decided.end();
    if (!is_part && (model.assumed.empty() || !model.dims.contains(name))) {
      fmt::print(stderr, "tenon: note: `--input {}`: the program takes `{}` in each run, as no shape depends on it\n",
                 word, name);
    }
  }
}

/// Named after the model's file, or the built-in model: names of graphs are alike in many files, such as `main_graph`.
std::string output_of(const Arguments& arguments, std::string_view suffix) {
  if (const auto path = arguments.find("-o")) {
    return *path;
  }
  const std::string& word = arguments.rest()[0];
  return (is_model_file(word) ? std::filesystem::path(word).stem().string() : word) + std::string(suffix);
}

/// Error: `-o` names a program, and what is written is none.
void require_other_ending(const Arguments& arguments, const std::string& emit) {
  const std::string path = arguments.find("-o").value_or("");
  if (std::filesystem::path(path).extension() == ".tenon") {
    fail("`-o {}`: FILE.tenon is a program that is loaded, and `--emit {}` writes what is linked: take another ending",
         path, emit);
  }
}

/// A program's file that becomes something else, beside that; it goes with the object.
class PassingProgram {
 public:
  explicit PassingProgram(const std::string& output) : path_(fmt::format("{}.{}.tenon", output, ::getpid())) {}
  ~PassingProgram() {
    std::error_code error;
    std::filesystem::remove(path_, error);
  }
  PassingProgram(const PassingProgram&) = delete;
  PassingProgram& operator=(const PassingProgram&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// What was written, and what it took.
struct Built {
  std::string path;
  std::string header;  // where there is one
  ProgramFileInfo info;
  double us = 0;
};

/// Builds the program where `emit` says no form; else builds and embeds it.
Built build_as(Graph graph, const std::string& path, const BuildOptions& options, std::optional<EmbedForm> emit,
               const std::function<void(Graph graph)>& build) {
  Built built{.path = path, .header = "", .info = {}};
  built.us = microseconds([&] {
    if (!emit) {
      build(std::move(graph));
      built.info = inspect_program(path, {.verify = false});
      return;
    }
    const PassingProgram program(path);
    build_program_as(std::move(graph), program.path(), options, path);
    built.header = embed_program(program.path(), path, *emit);
    built.info = inspect_program(program.path(), {.verify = false});
  });
  return built;
}

void report(const Built& built, const GraphModel& model, bool as_json) {
  const ProgramFileInfo& info = built.info;
  int64_t code = 0;
  int64_t constants = 0;
  Json machines = Json::array();
  std::vector<std::string> names;
  for (const ProgramFileSection& section : info.sections) {
    code += section.kind == "code" || section.kind == "part" ? section.bytes : 0;
    constants += section.kind == "constants" ? section.bytes : 0;
  }
  for (const ProgramFileMachine& each : info.machines) {
    machines.push(Json::object().set("name", each.machine.name).set("code", each.code));
    names.push_back(fmt::format("{} ({})", each.machine.name, each.code));
  }
  if (as_json) {
    Json json = Json::object();
    json.set("file", built.path);
    if (!built.header.empty()) {
      json.set("header", built.header);
    }
    json.set("model", info.name).set("bytes", info.bytes).set("code_bytes", code);
    json.set("constant_bytes", constants).set("machines", machines).set("microseconds", built.us);
    if (!model.assumed.empty()) {
      json.set("assumed", assumed_json(model));
    }
    json.print();
    return;
  }
  fmt::print("wrote {}{}: {} in {}\n  constants {}, code {}\n  for {}\n{}", built.path,
             built.header.empty() ? "" : fmt::format(" and {}", built.header), bytes_text(info.bytes),
             time_text(built.us), bytes_text(constants), bytes_text(code), fmt::join(names, "\n      "),
             assumed_text(model));
}

int run_build(const Arguments& arguments) {
  const Progress progress;
  progress.show("loading");
  const auto word = arguments.find("--emit");
  const std::optional<EmbedForm> emit = word ? std::optional(embed_form(*word)) : std::nullopt;
  BuildOptions options{.machines = machines_of(arguments), .reasons = !arguments.has("--strip")};
  if (emit) {
    require_embeddable(*emit, options.machines);
    require_other_ending(arguments, *word);
  }
  take_compile_options(arguments, options.compile);
  const Bindings sizes = Bindings::parse(arguments.find("--bind").value_or(""));
  const bool is_on_mesh = arguments.has(kMesh.name);
  is_on_mesh ? refuse_beside_mesh(arguments, {"--emit", kDonate.name, kWeights.name})
             : require_mesh_for_its_options(arguments);
  const LoadGraphOptions load{.weights = true, .inputs = arguments.all("--input"), .sizes = sizes};
  GraphModel model = is_on_mesh ? load_mesh_model(arguments.rest()[0], load)
                                : with_donations(arguments, load_model(arguments.rest()[0], load));
  check_inputs(arguments.all("--input"), model);
  options.metadata = metadata_of(arguments, model);
  options.usual = model.typical;
  for (const auto& [name, size] : sizes) {
    Bindings usual = without(options.usual, {name});
    usual.set(name, size);
    options.usual = usual;
  }
  options.usual = without(options.usual, model.decided);
  check_names(without(sizes, model.decided), axis_names(model.graph));
  Graph graph = with_sizes(model.graph, without(sizes, model.decided));
  model.graph = Graph();
  const std::string path = output_of(arguments, emit ? suffix(*emit) : ".tenon");
  const BuildWatch watch(progress);
  options.progress = [&](const BuildProgress& now) { watch(now); };
  const Built built = build_as(std::move(graph), path, options, emit, [&](Graph whole) {
    is_on_mesh ? build_for_mesh(arguments, whole, model, path, options)
               : build_program(std::move(whole), path, options);
  });
  progress.show("");
  report(built, model, arguments.has("--json"));
  return 0;
}

}  // namespace

const Verb kBuildVerb{
    .name = "build",
    .words = "MODEL",
    .doc = "compile a model into a file that runs without a compiler, here or on other machines",
    .about =
        "The file has the program, its machine code and its weights as kernels read them, good for all sizes. `tenon "
        "run`, `bench`, `check`, `explain` and `inspect` take it in the place of a model, and programs load it with "
        "load_program() of tenon/program_file.h or tenon_load() of tenon/c.h. Processes that run one file share its "
        "weights. With several "
        "--machine the file has a program for each, and the best that fits is taken where it is loaded. The code of a "
        "file is trusted as that of a program is: load no file that you would not run.",
    .options = kBuildOptions,
    .examples = kBuildExamples,
    .run = run_build};

}  // namespace tenon::cli
