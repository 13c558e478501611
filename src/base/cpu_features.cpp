#include "base/cpu_features.h"

#include <algorithm>
#include <array>

namespace tenon {
namespace {

constexpr std::array<std::string_view, 7> kSetNames = {"other",     "x86-64", "x86-64-v2", "x86-64-v3",
                                                       "x86-64-v4", "arm64",  "armv8.2"};

// A virtual machine may hide one bit of level 3, and then its processor is of level 2 and has the rest.
constexpr auto kFeatureRows = [] {
  using enum InstructionSet;
  return std::array{
      CpuFeatureRow{CpuFeature::avx, "avx", x86_64, x86_64_v3},
      CpuFeatureRow{CpuFeature::avx2, "avx2", x86_64, x86_64_v3},
      CpuFeatureRow{CpuFeature::fma, "fma", x86_64, x86_64_v3},
      CpuFeatureRow{CpuFeature::f16c, "f16c", x86_64, x86_64_v3},
      CpuFeatureRow{CpuFeature::avxvnni, "avxvnni", x86_64, other},
      CpuFeatureRow{CpuFeature::avx512vnni, "avx512vnni", x86_64_v4, other},
      CpuFeatureRow{CpuFeature::avx512vbmi, "avx512vbmi", x86_64_v4, other},
      CpuFeatureRow{CpuFeature::avx512vbmi2, "avx512vbmi2", x86_64_v4, other},
      CpuFeatureRow{CpuFeature::avx512bf16, "avx512bf16", x86_64_v4, other},
      CpuFeatureRow{CpuFeature::avx512fp16, "avx512fp16", x86_64_v4, other},
      CpuFeatureRow{CpuFeature::amx_tile, "amx-tile", x86_64_v4, other},
      CpuFeatureRow{CpuFeature::amx_bf16, "amx-bf16", x86_64_v4, other},
      CpuFeatureRow{CpuFeature::amx_int8, "amx-int8", x86_64_v4, other},
      CpuFeatureRow{CpuFeature::lse, "lse", arm64, armv8_2},
      CpuFeatureRow{CpuFeature::fullfp16, "fullfp16", arm64, armv8_2},
      CpuFeatureRow{CpuFeature::rdm, "rdm", arm64, armv8_2},
      CpuFeatureRow{CpuFeature::dotprod, "dotprod", arm64, armv8_2},
      CpuFeatureRow{CpuFeature::fp16fml, "fp16fml", arm64, other},
      CpuFeatureRow{CpuFeature::i8mm, "i8mm", arm64, other},
      CpuFeatureRow{CpuFeature::bf16, "bf16", arm64, other},
  };
}();

const CpuFeatureRow& row_of(CpuFeature feature) { return kFeatureRows.at(static_cast<size_t>(feature)); }

/// Whether `set` is `least` or one after it of its family.
bool reaches(InstructionSet set, InstructionSet least) {
  return set != InstructionSet::other && least != InstructionSet::other && is_arm(set) == is_arm(least) && set >= least;
}

}  // namespace

bool is_arm(InstructionSet set) { return set >= InstructionSet::arm64; }

std::span<const CpuFeatureRow> cpu_features() { return kFeatureRows; }

bool may_have(InstructionSet set, CpuFeature feature) { return reaches(set, row_of(feature).least); }

std::span<const std::string_view> instruction_set_names() { return kSetNames; }

std::optional<InstructionSet> instruction_set_named(std::string_view name) {
  const auto* const found = std::ranges::find(kSetNames, name);
  if (found == kSetNames.end()) return std::nullopt;
  return static_cast<InstructionSet>(found - kSetNames.begin());
}

std::string_view name(InstructionSet set) { return kSetNames.at(static_cast<size_t>(set)); }

std::string_view name(CpuFeature feature) { return row_of(feature).name; }

bool CpuMachine::has(CpuFeature feature) const {
  return reaches(instructions, row_of(feature).implied) || features.contains(feature);
}

}  // namespace tenon
