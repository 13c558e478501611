// Plans for people and for programs: tables and JSON.
#pragma once

#include "cli/partition/partition_model.h"
#include "cli/print/json.h"

namespace tenon::cli {

/// One rung: how far a level of aggregation goes.
struct Rung {
  std::string name;
  size_t parts = 0, transfers = 0;
  int64_t bytes = 0;
  double saved = 0;  // of the bytes that move when each operator is a part
};

/// Operators, chains, residual epilogues, blocks.
std::vector<Rung> ladder(const PartitionModel& model, const partition::Profile& profile);

std::string plan_table(const partition::Plan& plan, const PartitionModel& model);
std::string ladder_table(const std::vector<Rung>& rungs);
Json plan_report(const partition::Plan& plan, const PartitionModel& model, const std::vector<Rung>& rungs);

/// The first few operators of a part, in a line.
std::string operators_text(const partition::Part& part, const partition::WorkGraph& work, size_t most);

}  // namespace tenon::cli
