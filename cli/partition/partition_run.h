// A plan that runs: each part compiled by itself, one after the other, and held against the whole.
#pragma once

#include "cli/partition/partition_model.h"
#include "cli/print/json.h"

namespace tenon::cli {

struct PartRun {
  double microseconds = 0;  // by itself, the least of several
  double in_whole = -1;     // of its steps in a run of the whole; negative where parts are not made of these
};

struct OutputMatch {
  std::string name;
  bool same_bits = false;
  double relative = 0;  // largest difference by the largest element
  double tolerance = 0;

  bool ok() const { return same_bits || relative <= tolerance; }
};

struct PlanRun {
  std::vector<PartRun> parts;
  std::vector<OutputMatch> outputs;
  double whole_us = 0;  // the model compiled as one
  double rank = 0;      // correlation of ranks between what was estimated for parts and what was measured, in the whole
                        // where that is known
};

/// What a run in parts gave against what the whole gave, by the rounding that the graph may have.
std::vector<OutputMatch> match_outputs(const Graph& graph, const std::vector<Array>& got,
                                       const std::vector<Array>& wanted, const Bindings& bindings);
std::string matches_text(const std::vector<OutputMatch>& outputs);
Json matches_json(const std::vector<OutputMatch>& outputs);

/// `repeats` runs are timed. Inputs are random, the same each time.
PlanRun run_plan(const PartitionModel& model, const partition::Plan& plan, size_t repeats);

std::string run_table(const PlanRun& run, const partition::Plan& plan);
Json run_json(const PlanRun& run);

/// Each part as partNNN.onnx with named axes, and manifest.json with their order, inputs and outputs: all of them, or
/// the folder stays as it was. An earlier export there is replaced. Error: the folder has other files.
void export_parts(const PartitionModel& model, const partition::Plan& plan, const std::string& folder);

}  // namespace tenon::cli
