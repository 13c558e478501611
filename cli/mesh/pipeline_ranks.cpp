#include "cli/mesh/pipeline_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/fail.h"
#include "cli/models/output_files.h"
#include "cli/print/cost.h"
#include "cli/print/json.h"
#include "cli/print/stopwatch.h"
#include "cli/print/summary.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/words/compile_options.h"
#include "mesh/pipeline/pieces_of_batch.h"
#include "tenon/partition.h"

namespace tenon::cli {
PipelineWords pipeline_words(const Arguments& arguments) {
  const std::string text = *arguments.find(kPipeline.name);
  const size_t equals = text.find('=');
  PipelineWords words{.axis = text.substr(0, equals)};
  if (equals == std::string::npos) return words;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data() + equals + 1, end, words.pieces);
  if (error != std::errc() || behind != end || words.pieces < 1) {
    fail("`{} {}` is not AXIS or AXIS=PIECES with a number of pieces", kPipeline.name, text);
  }
  return words;
}

std::vector<Graph> stages_of(const Graph& graph, const Bindings& bindings, int64_t count, int64_t pieces) {
  const partition::WorkGraph work = partition::work_graph(graph);
  const partition::Plan plan = partition::make_plan(work, bindings, partition::profile_named("cpu64"),
                                                    {.by = "pipeline", .parts = count, .micro_batches = pieces});
  std::vector<Graph> stages;
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    stages.push_back(partition::part_graph(work, plan, i));
  }
  return stages;
}

std::unique_ptr<mesh::PipelineProgram> compile_pipeline(const Arguments& arguments, const GraphModel& model,
                                                        const Bindings& bindings, mesh::Communicator& world) {
  const PipelineWords words = pipeline_words(arguments);
  const mesh::MeshShape mesh = mesh::MeshShape::parse(*arguments.find(kMesh.name));
  const auto axis = static_cast<size_t>(mesh.find(words.axis));
  CompileOptions options;
  take_compile_options(arguments, options);
  const mesh::PipelineOptions how{
      .along = words.axis,
      .pieces = words.pieces,
      .sharding = sharding_of(arguments, mesh::without_axis(mesh, axis), model.graph, bindings),
      .costs = costs_of(arguments),
      .typical = bindings};
  return std::make_unique<mesh::PipelineProgram>(
      model.graph, stages_of(model.graph, bindings, mesh.axes[axis].size, words.pieces), mesh, how, world,
      mesh::compiling(options, threads_of_rank(arguments, mesh)));
}

int run_pipeline(const Arguments& arguments, mesh::Communicator& world) {
  refuse_beside_mesh(arguments, {"--trace", kWeights.name});
  const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
  const GraphModel model = load_mesh_model(arguments.rest()[0], {.inputs = arguments.all("--input"), .sizes = bound});
  const PreparedInputs prepared = prepare_inputs(model, bound, arguments.all("--input"));
  if (world.rank() == 0) announce_cost(CostModel(model.graph), prepared.bindings, arguments);
  std::unique_ptr<mesh::PipelineProgram> program;
  const double compile = microseconds([&] { program = compile_pipeline(arguments, model, prepared.bindings, world); });
  const std::vector<Array> inputs = prepared.arrays();
  std::vector<Array> outputs;
  const double first = microseconds([&] { outputs = program->run(inputs, prepared.bindings); });
  const double sent = program->sent_bytes();
  const auto repeat = static_cast<size_t>(arguments.find_number("--repeat", 1).value_or(1));
  const Samples repeated = sample([&] { program->run(inputs, prepared.bindings); }, repeat, 0);
  if (world.rank() != 0) return 0;
  if (const auto folder = arguments.find("--output")) {
    std::vector<std::string> names;
    for (const Output& output : model.graph.outputs()) {
      names.push_back(output.name);
    }
    write_outputs(arguments, *folder, names, outputs);
  }
  const std::string mesh = *arguments.find(kMesh.name);
  const std::string pipeline = *arguments.find(kPipeline.name);
  if (arguments.has("--json")) {
    Json results = Json::array();
    for (size_t i = 0; i < outputs.size(); ++i) {
      results.push(Json::object()
                       .set("name", model.graph.outputs()[i].name)
                       .set("dims", outputs[i].dims())
                       .set("summary", Summary(outputs[i]).to_json()));
    }
    Json::object()
        .set("model", model.graph.name())
        .set("mesh", mesh)
        .set("pipeline", pipeline)
        .set("bindings", prepared.bindings.to_string())
        .set("outputs", results)
        .set("sent_bytes", sent)
        .set("microseconds",
             Json::object().set("compile", compile).set("first", first).set("median", repeated.median()))
        .print();
    return 0;
  }
  fmt::print("{} at {} on the mesh {}, in stages along {}\n", bold(model.graph.name()), prepared.bindings.to_string(),
             mesh, pipeline);
  for (size_t i = 0; i < outputs.size(); ++i) {
    fmt::print("  out {}  {}  {}\n", model.graph.outputs()[i].name,
               resolve(model.graph.outputs()[i].value.shape(), prepared.bindings).to_string(),
               Summary(outputs[i]).to_string());
  }
  fmt::print("  compile     {:>10}\n  first run   {:>10}\n  later runs  {:>10}   median of {}\n", time_text(compile),
             time_text(first), time_text(repeated.median()), repeated.times.size());
  fmt::print("  the first rank sends {} in a run\n", bytes_text(static_cast<int64_t>(sent)));
  return 0;
}

}  // namespace tenon::cli
