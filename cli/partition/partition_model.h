// What the verb `partition` works on: a model as operators, sizes, hardware and options.
#pragma once

#include "cli/models/load_graph.h"
#include "cli/words/arguments.h"
#include "tenon/partition.h"

namespace tenon::cli {

struct PartitionModel {
  GraphModel model;
  partition::WorkGraph work;
  Bindings bindings;
  std::vector<size_t> step_of = {};  // of each operator that is a kernel of the compiler, the step of the program
};

/// `compiled`: the operators are the kernels that the compiler makes of it. `usual` are sizes for what `--bind` leaves
/// out. Error where data decide sizes.
PartitionModel load_partition_model(const Arguments& arguments, bool compiled, const Bindings& usual);

/// By `--profile`: a name, a file, or `host`, which is measured. The default is cpu64.
partition::Profile profile_of(const Arguments& arguments);
partition::Profile profile_by_name(const std::string& name);

partition::PlanOptions plan_options(const Arguments& arguments);

/// A number of bytes, or of KiB, MiB or GiB: `256KiB`.
int64_t parse_bytes(const std::string& text, std::string_view option);

}  // namespace tenon::cli
