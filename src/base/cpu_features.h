// Which processors have which instructions.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "tenon/machine.h"

namespace tenon {

/// A row of the table of instructions that code may use.
struct CpuFeatureRow {
  CpuFeature feature;
  std::string_view name;
  InstructionSet least;    // some processors of this set, and of those after it of its family, have it
  InstructionSet implied;  // all processors of this set, and of those after it of its family, have it; `other`: of none
};

/// In the order of CpuFeature.
std::span<const CpuFeatureRow> cpu_features();

bool is_arm(InstructionSet set);

/// Whether there are processors of the set that have the feature.
bool may_have(InstructionSet set, CpuFeature feature);

std::optional<InstructionSet> instruction_set_named(std::string_view name);
std::span<const std::string_view> instruction_set_names();  ///< in the order of InstructionSet

}  // namespace tenon
