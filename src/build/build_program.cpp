#include "tenon/build_program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fail.h"
#include "build/embed_program.h"
#include "build/index_limits.h"
#include "build/make_program.h"
#include "build/program_cache.h"
#include "compiler/lowered.h"
#include "devices/cpu/cpu_device.h"
#include "ir/data_axes.h"
#include "ir/node.h"
#include "runtime/run/make_executable.h"
#include "saved/write.h"
#include "shape/not_representable.h"

namespace tenon {
namespace {

/// What needs the relations of with_sizes().
constexpr std::string_view kBuiltFor = "the sizes that it was built for";

/// Those, for people.
std::string built_for(const Graph& graph) {
  std::string text;
  for (const Constraint& each : graph.relations()) {
    text += each.needed_by == kBuiltFor ? (text.empty() ? "" : ", ") + each.to_string() : "";
  }
  return text;
}

/// What files say of machines that nobody named: "host" is another one wherever the file is read.
Machine named(Machine machine) {
  if (machine.name == this_machine().name && !machine.is_gpu()) {
    machine.name = name(machine.cpu().instructions);
  }
  return machine;
}

/// What was given, and how it was compiled where that is not as usual and shows in results or speed.
std::map<std::string, std::string> metadata_of(const BuildOptions& options) {
  const CompileOptions& compile = options.compile;
  std::map<std::string, std::string> own;
  if (compile.weights) own["weights"] = name(*compile.weights);
  if (compile.precision != Precision::f32) own["precision"] = name(compile.precision);
  if (!compile.winograd) own["winograd"] = "off";
  if (!compile.pipelines) own["pipelines"] = "off";
  if (compile.pipeline_rows > 0) own["pipeline_rows"] = std::to_string(compile.pipeline_rows);
  if (!compile.fuse) own["fuse"] = "off";
  std::map<std::string, std::string> metadata = options.metadata;
  for (const auto& [key, value] : own) {
    if (!metadata.emplace(key, value).second) {
      fail("metadata `{}` cannot be `{}`: Tenon writes it itself, as how the program was compiled; take another name",
           key, metadata.at(key));
    }
  }
  return metadata;
}

ProgramFileInfo describe(const Graph& graph, const BuildOptions& options) {
  ProgramFileInfo info;
  info.name = graph.name();
  const std::vector<std::optional<Extent>> limits = index_limits(graph);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& input = graph.inputs()[i];
    ProgramFileInput& port = info.inputs.emplace_back();
    port.name = input.node().as<Input>()->name;
    port.shape = input.shape();
    if (const auto sizes = options.compile.sizes_from.find(port.name); sizes != options.compile.sizes_from.end()) {
      port.gives = sizes->second;
    }
    if (limits[i]) {
      port.limits.push_back(*limits[i]);
    }
  }
  for (const Output& output : graph.outputs()) {
    info.outputs.push_back({.name = output.name, .shape = output.value.shape(), .aliases = output.aliases});
  }
  info.usual = options.usual;
  info.metadata = metadata_of(options);
  return info;
}

/// All names that a run may bind: those of inputs, and what else the program needs.
std::vector<std::string> axes_of(const saved::MachineProgram& program, const std::vector<ProgramFileInput>& inputs) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && !program.segments.late.contains(name) && std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  };
  for (const ProgramFileInput& input : inputs) {
    for (const Axis& axis : input.shape.axes()) {
      std::ranges::for_each(axis.extent().names(), add);
    }
  }
  std::ranges::for_each(program.names, add);
  return names;
}

Bindings of_names(const Bindings& bindings, const std::vector<std::string>& names) {
  Bindings result;
  for (const auto& [name, size] : bindings) {
    if (std::ranges::find(names, name) != names.end()) {
      result.set(name, size);
    }
  }
  return result;
}

/// What a program that was made says of its names.
void describe_sizes(saved::SavedProgram& program) {
  const saved::MachineProgram& first = program.machines.front();
  program.info.axes = axes_of(first, program.info.inputs);
  program.info.usual = of_names(program.info.usual, program.info.axes);
  program.info.constraints = first.segments.segments.front().constraints.added();
}

saved::MachineProgram finish(compiler::Lowered lowered, const compiler::CodeChoice& choice) {
  const Machine machine = lowered.machine;
  compiler::ForFile made = compiler::compile_for_file(std::move(lowered), choice);
  return {.machine = named(machine),
          .segments = std::move(made.segments),
          .names = std::move(made.names),
          .code = std::move(made.module)};
}

class Builder {
 public:
  Builder(Graph graph, const BuildOptions& options) : graph_(std::move(graph)), options_(options) {}

  saved::SavedProgram run() {
    saved::SavedProgram program{.info = describe(graph_, options_), .machines = {}, .reasons = options_.reasons};
    const std::vector<Machine> machines = options_.machines.empty() ? std::vector{this_machine()} : options_.machines;
    for (auto machine = machines.begin(); machine != machines.end(); ++machine) {
      const auto same = std::ranges::find(machines.begin(), machine, machine->facts, &Machine::facts);
      if (same != machine && same->name == machine->name) {
        fail("machine `{}` is given twice", machine->name);
      }
      if (same != machine) {
        fail("machines `{}` and `{}` are the same but for their names: a file has one program for both", same->name,
             machine->name);
      }
    }
    for (const Machine& machine : machines) {
      program.machines.push_back(for_machine(machine, &machine == &machines.back()));
    }
    describe_sizes(program);
    return program;
  }

  void tell(BuildProgress progress) const {
    const std::lock_guard lock(mutex_);
    if (options_.progress) options_.progress(progress);
  }

 private:
  saved::MachineProgram for_machine(const Machine& machine, bool is_last) {
    if (machine.is_gpu()) {
      fail("machine `{}` is a GPU, and program files hold code for CPUs", machine.name);
    }
    const std::string called = named(machine).name;
    tell({.what = "scheduling", .machine = called});
    CompileOptions options = options_.compile;
    options.machine = machine;
    options.report = nullptr;
    options.on_pass = {};
    CompileReport report;
    compiler::Lowered lowered = lower(options, report);
    report.passes.clear();
    if (is_last) {
      graph_ = Graph();  // its weights are not kept beside those that are laid out
    }
    compiler::CodeChoice choice = compiler::code_choice(options);
    choice.options.progress = [&](size_t done, size_t of) {
      tell(
          {.what = "compiling", .machine = called, .done = static_cast<int64_t>(done), .of = static_cast<int64_t>(of)});
    };
    return finish(std::move(lowered), choice);
  }

  /// Sizes that were given are named where their arithmetic has no result.
  compiler::Lowered lower(const CompileOptions& options, CompileReport& report) const {
    try {
      return compiler::lower(graph_, options, report);
    } catch (NotRepresentable& error) {
      if (const std::string sizes = built_for(graph_); !sizes.empty()) {
        error.note("at the sizes that it is built for: " + sizes);
      }
      throw;
    }
  }

  Graph graph_;
  const BuildOptions& options_;
  mutable std::mutex mutex_;
};

}  // namespace

Graph with_sizes(const Graph& graph, const Bindings& sizes) {
  if (sizes.empty()) {
    return graph;
  }
  std::vector<Constraint> relations = graph.relations();
  const std::vector<std::string> names = compiler::names_of(graph);
  for (const auto& [name, size] : sizes) {
    if (std::ranges::find(names, name) == names.end()) {
      fail("axis `{}` cannot be {}: the model has no axis of this name{}", name, size,
           names.empty() ? ", as all of its sizes are known" : fmt::format("; its axes: {}", fmt::join(names, ", ")));
    }
    relations.push_back({.kind = Constraint::Kind::equal,
                         .lhs = Extent::name(name),
                         .rhs = Extent(size),
                         .needed_by = std::string(kBuiltFor)});
  }
  return {graph.name(), graph.inputs(), graph.outputs(), std::move(relations)};
}

void build_program(Graph graph, const std::string& path, const BuildOptions& options) {
  build_program_as(std::move(graph), path, options, path);
}

void build_program_as(Graph graph, const std::string& path, const BuildOptions& options, const std::string& called) {
  Builder builder(std::move(graph), options);
  const saved::SavedProgram program = builder.run();
  const auto progress = [&](int64_t done, int64_t of) {
    builder.tell({.what = "writing", .machine = "", .done = done, .of = of});
  };
  progress(0, 0);  // before there is a file
  saved::write_program(program, path, {.progress = progress, .called = called});
}

ProgramFileInfo describe_program(const Graph& graph, const BuildOptions& options) { return describe(graph, options); }

saved::SavedProgram make_program(Graph graph, const BuildOptions& options) {
  return Builder(std::move(graph), options).run();
}

CompiledProgram compile_to_keep(Graph&& graph, const BuildOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  saved::SavedProgram program{.info = describe(graph, options), .machines = {}, .reasons = options.reasons};
  CompileReport report;
  compiler::Lowered lowered = compiler::lower(graph, options.compile, report);
  graph = Graph();  // its weights are not kept beside those that are laid out
  report.passes.clear();
  compiler::CodeChoice choice = compiler::code_choice(options.compile);
  choice.options.own_products = false;
  program.machines.push_back(finish(std::move(lowered), choice));
  describe_sizes(program);
  const saved::MachineProgram& made = program.machines.front();
  const std::shared_ptr<devices::Device>& device = devices::host_device();
  runtime::Segments segments = made.segments;
  segments.code = device->load(made.code);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  Executable executable = runtime::make_executable(std::move(segments), {.device = device,
                                                                         .compile_ms = taken.count(),
                                                                         .code = made.code.description,
                                                                         .code_bytes = devices::byte_count(made.code),
                                                                         .names = made.names});
  return {.executable = std::move(executable),
          .saved = std::make_shared<const saved::SavedProgram>(std::move(program))};
}

}  // namespace tenon
