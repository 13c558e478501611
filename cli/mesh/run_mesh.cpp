#include "cli/mesh/run_mesh.h"

#include <fmt/format.h>

#include "cli/mesh/mesh_ranks.h"
#include "cli/models/files.h"
#include "cli/models/output_files.h"
#include "cli/print/cost.h"
#include "cli/print/json.h"
#include "cli/print/stopwatch.h"
#include "cli/print/summary.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/words/donation.h"

namespace tenon::cli {
namespace {

struct MeshTimes {
  double compile = 0, first = 0;
  Samples repeated;
  mesh::Traffic each;  // of one run
};

void print_mesh_json(const mesh::ShardedGraph& graph, const PreparedInputs& prepared, const std::vector<Array>& outputs,
                     const MeshTimes& times) {
  Json results = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = graph.whole.outputs()[i];
    results.push(Json::object()
                     .set("name", output.name)
                     .set("shape", output.value.shape().to_string())
                     .set("dims", outputs[i].dims())
                     .set("summary", Summary(outputs[i]).to_json()));
  }
  Json us = Json::object();
  us.set("compile", times.compile)
      .set("first", times.first)
      .set("median", times.repeated.median())
      .set("least", times.repeated.least());
  Json::object()
      .set("model", graph.whole.name())
      .set("mesh", graph.mesh.to_string())
      .set("bindings", prepared.bindings.to_string())
      .set("outputs", results)
      .set("collectives", times.each.collectives)
      .set("sent_bytes", times.each.bytes)
      .set("microseconds", us)
      .print();
}

void print_mesh_text(const mesh::ShardedGraph& graph, const PreparedInputs& prepared, const std::vector<Array>& outputs,
                     const MeshTimes& times) {
  const std::string sizes = prepared.bindings.to_string();
  fmt::print("{}{}{} on the mesh {}\n", bold(graph.whole.name()), sizes.empty() ? "" : " at ", sizes,
             graph.mesh.to_string());
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    const NamedArray& input = prepared.inputs[i];
    const Shape& shape = graph.whole.inputs()[i].shape();
    fmt::print("  in  {}  {}  {}  {}\n", input.name, resolve(shape, prepared.bindings).to_string(), input.source,
               mesh::describe(graph.input_layouts[i], shape, graph.mesh));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = graph.whole.outputs()[i];
    fmt::print("  out {}  {}  {}\n", output.name, resolve(output.value.shape(), prepared.bindings).to_string(),
               Summary(outputs[i]).to_string());
  }
  fmt::print("  compile     {:>10}\n", time_text(times.compile));
  fmt::print("  first run   {:>10}\n", time_text(times.first));
  fmt::print("  later runs  {:>10}   median of {}\n", time_text(times.repeated.median()), times.repeated.times.size());
  fmt::print("  collectives {:>10}   in a run; a rank sends {}\n", times.each.collectives,
             bytes_text(static_cast<int64_t>(times.each.bytes)));
}

/// This rank's parts of all inputs. The whole ones are let go: a file's weights are not in memory any more.
std::vector<Array> take_parts(const mesh::MeshProgram& program, GraphModel& model, PreparedInputs& prepared) {
  model.values.clear();
  std::vector<Array> parts;
  for (NamedArray& each : prepared.inputs) {
    parts.push_back(program.part_of_input(parts.size(), each.value, prepared.bindings));
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
    const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
    GraphModel model = load_mesh_model(arguments.rest()[0], {.inputs = arguments.all("--input"), .sizes = bound});
    PreparedInputs prepared = prepare_inputs(model, bound, arguments.all("--input"));
    if (world.rank() == 0) announce_cost(CostModel(model.graph), prepared.bindings, arguments);
    MeshTimes times;
    std::optional<mesh::MeshProgram> program;
    times.compile =
        microseconds([&] { program.emplace(compile_for_rank(arguments, model, prepared.bindings, world)); });
    std::vector<const Array*> whole;
    for (const NamedArray& each : prepared.inputs) {
      whole.push_back(&each.value);
    }
    program->require_same_inputs(whole);
    const std::vector<Array> parts = take_parts(*program, model, prepared);
    std::vector<Array> outputs;
    times.first = microseconds([&] { outputs = program->run(parts, prepared.bindings); });
    times.each = program->traffic();
    const auto repeat = static_cast<size_t>(arguments.find_number("--repeat", 1).value_or(1));
    times.repeated = sample([&] { program->run(parts, prepared.bindings); }, repeat, 0);
    if (const auto file = arguments.find("--trace")) write_trace(*program, world, parts, prepared.bindings, *file);
    if (world.rank() != 0) return 0;
    if (const auto folder = arguments.find("--output")) {
      std::vector<std::string> names;
      for (const Output& output : model.graph.outputs()) {
        names.push_back(output.name);
      }
      write_outputs(arguments, *folder, names, outputs);
    }
    (arguments.has("--json") ? print_mesh_json : print_mesh_text)(program->graph(), prepared, outputs, times);
    return 0;
  });
}

}  // namespace tenon::cli
