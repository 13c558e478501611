// `--pipeline`: a model in stages, which a plan of the partitioner makes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/mesh/mesh_ranks.h"
#include "mesh/pipeline/pipeline_program.h"

namespace tenon::cli {

/// What `--pipeline` says.
struct PipelineWords {
  std::string axis;
  int64_t pieces = 1;
};
PipelineWords pipeline_words(const Arguments& arguments);

/// Stretches of the graph's operators that take about as long, as graphs.
std::vector<Graph> stages_of(const Graph& graph, const Bindings& bindings, int64_t count, int64_t pieces);

/// One rank's end of the pipeline that `--pipeline` asks for, compiled. Error: no such axis, no number.
std::unique_ptr<mesh::PipelineProgram> compile_pipeline(const Arguments& arguments, const GraphModel& model,
                                                        const Bindings& bindings, mesh::Communicator& world);

/// `tenon run --pipeline`, on a rank. Gives the exit status.
int run_pipeline(const Arguments& arguments, mesh::Communicator& world);

}  // namespace tenon::cli
