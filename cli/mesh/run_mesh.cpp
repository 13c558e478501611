#include "cli/mesh/run_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/mesh/mesh_ranks.h"
#include "cli/mesh/pipeline_ranks.h"
#include "cli/models/files.h"
#include "cli/models/output_files.h"
#include "cli/print/cost.h"
#include "cli/print/json.h"
#include "cli/print/stopwatch.h"
#include "cli/print/summary.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/words/donation.h"
#include "tenon/program_file.h"

namespace tenon::cli {
namespace {

struct MeshTimes {
  double load = 0, compile = 0, first = 0;
  Samples repeated;
  mesh::Traffic each;  // of one run
};

void print_mesh_json(const mesh::RankPlan& plan, const PreparedInputs& prepared, const std::vector<Array>& outputs,
                     const MeshTimes& times) {
  Json results = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const SignatureOutput& output = plan.whole.outputs[i];
    results.push(Json::object()
                     .set("name", output.name)
                     .set("shape", output.shape.to_string())
                     .set("dims", outputs[i].dims())
                     .set("summary", Summary(outputs[i]).to_json()));
  }
  Json us = Json::object();
  us.set("load", times.load)
      .set("compile", times.compile)
      .set("first", times.first)
      .set("median", times.repeated.median())
      .set("least", times.repeated.least());
  Json::object()
      .set("model", plan.whole.name)
      .set("mesh", plan.mesh.to_string())
      .set("bindings", prepared.bindings.to_string())
      .set("outputs", results)
      .set("collectives", times.each.collectives)
      .set("sent_bytes", times.each.bytes)
      .set("microseconds", us)
      .print();
}

void print_mesh_text(const mesh::RankPlan& plan, const PreparedInputs& prepared, const std::vector<Array>& outputs,
                     const MeshTimes& times) {
  const std::string sizes = prepared.bindings.to_string();
  fmt::print("{}{}{} on the mesh {}\n", bold(plan.whole.name), sizes.empty() ? "" : " at ", sizes,
             plan.mesh.to_string());
  for (const NamedArray& input : prepared.inputs) {
    const auto found = std::ranges::find(plan.whole.inputs, input.name, &SignatureInput::name);
    fmt::print("  in  {}  {}  {}  {}\n", input.name, resolve(found->shape, prepared.bindings).to_string(), input.source,
               mesh::describe(plan.input_layouts[static_cast<size_t>(found - plan.whole.inputs.begin())], found->shape,
                              plan.mesh));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const SignatureOutput& output = plan.whole.outputs[i];
    fmt::print("  out {}  {}  {}\n", output.name, resolve(output.shape, prepared.bindings).to_string(),
               Summary(outputs[i]).to_string());
  }
  const bool is_compiled = times.compile > 0;
  fmt::print("  {:<10}  {:>10}\n", is_compiled ? "compile" : "load",
             time_text(is_compiled ? times.compile : times.load));
  fmt::print("  first run   {:>10}\n", time_text(times.first));
  fmt::print("  later runs  {:>10}   median of {}\n", time_text(times.repeated.median()), times.repeated.times.size());
  fmt::print("  collectives {:>10}   in a run; a rank sends {}\n", times.each.collectives,
             bytes_text(static_cast<int64_t>(times.each.bytes)));
}

/// What a rank runs, and on what.
struct Subject {
  PreparedInputs prepared;
  RankRun rank;
};

Subject open_subject(const Arguments& arguments, mesh::Communicator& world, MeshTimes& times) {
  const std::string& word = arguments.rest()[0];
  const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
  const std::vector<std::string> inputs = arguments.all("--input");
  if (is_program_file(word)) {
    std::optional<mesh::MeshFile> file;
    std::optional<RankRun> rank;
    times.load = microseconds([&] {
      file.emplace(open_mesh_program(arguments));
      rank.emplace(load_for_rank(arguments, *file, world));
    });
    return {.prepared = prepare_inputs(ports_of(file->info()), bound, inputs), .rank = *std::move(rank)};
  }
  GraphModel model = load_mesh_model(word, {.inputs = inputs, .sizes = bound});
  PreparedInputs prepared = prepare_inputs(model, bound, inputs);
  if (world.rank() == 0) announce_cost(CostModel(model.graph), prepared.bindings, arguments);
  std::optional<RankRun> rank;
  times.compile = microseconds([&] { rank.emplace(compile_for_rank(arguments, model, prepared.bindings, world)); });
  return {.prepared = std::move(prepared), .rank = *std::move(rank)};
}

/// This rank's parts of all inputs. The whole ones are let go: a file's weights are not in memory any more.
std::vector<Array> take_parts(Subject& subject) {
  std::vector<Array> parts = subject.rank.parts(subject.prepared);
  for (NamedArray& each : subject.prepared.inputs) {
    each.value = Array();
  }
  return parts;
}

/// One more run of all ranks.
void write_trace(mesh::MeshProgram& program, mesh::Communicator& world, const std::vector<Array>& parts,
                 const Bindings& bindings, const std::string& file) {
  mesh::MeshTrace trace;
  program.set_trace(&trace);
  program.run(parts, bindings);
  program.set_trace(nullptr);
  const std::string text = trace.to_json(world);
  if (world.rank() == 0) write_text(file, text);
}

}  // namespace

int run_on_mesh(const Arguments& arguments) {
  refuse_beside_mesh(arguments, {"--device", "--donate", "--stats", "--flush-denormals"});
  return on_ranks(arguments, [&](mesh::Communicator& world) {
    if (arguments.has(kPipeline.name)) return run_pipeline(arguments, world);
    MeshTimes times;
    Subject subject = open_subject(arguments, world, times);
    mesh::MeshProgram& program = subject.rank.program;
    const Bindings& bindings = subject.prepared.bindings;
    const std::vector<Array> parts = take_parts(subject);
    std::vector<Array> outputs;
    times.first = microseconds([&] { outputs = program.run(parts, bindings); });
    times.each = program.traffic();
    const auto repeat = static_cast<size_t>(arguments.find_number("--repeat", 1).value_or(1));
    times.repeated = sample([&] { program.run(parts, bindings); }, repeat, 0);
    if (const auto file = arguments.find("--trace")) write_trace(program, world, parts, bindings, *file);
    if (world.rank() != 0) return 0;
    if (const auto folder = arguments.find("--output")) {
      std::vector<std::string> names;
      for (const SignatureOutput& output : program.plan().whole.outputs) {
        names.push_back(output.name);
      }
      write_outputs(arguments, *folder, names, outputs);
    }
    (arguments.has("--json") ? print_mesh_json : print_mesh_text)(program.plan(), subject.prepared, outputs, times);
    return 0;
  });
}

}  // namespace tenon::cli
