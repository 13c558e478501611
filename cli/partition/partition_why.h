// Why two operators are or are not in one part of a plan: what `tenon partition --why` prints.
#pragma once

#include <string>

#include "cli/partition/partition_model.h"
#include "cli/print/json.h"

namespace tenon::cli {

/// Both as they were asked for, and what was found of two operators of them.
struct PartitionWhy {
  std::string first, second;  // the operators that were asked about
  std::string text;
};

/// `first` and `second` are operators of the plan (`conv3`), names of nodes of the model, or numbers of steps of
/// `tenon explain`. Where one stands for several operators, two of them are asked about of which one reads the other,
/// if there are such. Error: there is no such operator, name or step.
PartitionWhy partition_why(const PartitionModel& model, const partition::Plan& plan, const std::string& first,
                           const std::string& second);

Json why_json(const PartitionWhy& why);

}  // namespace tenon::cli
