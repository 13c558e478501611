// Targets by what a processor has.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "base/host_cpu.h"
#include "native/target.h"

namespace tenon::codegen {

/// Of a level of x86-64, 1 to 4, with features beyond it.
inline Target x86_target(int level, std::set<CpuFeature> features = {}) {
  const auto set = static_cast<InstructionSet>(static_cast<int>(InstructionSet::x86_64) + level - 1);
  return target_of({.facts = CpuMachine{.instructions = set, .features = std::move(features)}});
}

/// By Linux's capability words.
inline Target arm64_target(uint64_t hwcap, uint64_t hwcap2, int64_t sve_bits = 0) {
  return target_of({.facts = arm_cpu(hwcap, hwcap2, sve_bits)});
}

}  // namespace tenon::codegen
