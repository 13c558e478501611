#include "native/product_target.h"

#include <algorithm>
#include <ranges>
#include <string_view>

#include "native/product_shape.h"

namespace tenon::codegen {
namespace {

/// Whether code of products of these types may be other code for having a feature of `target`.
bool matters(std::string_view feature, const ProductTypes& types, const Target& target) {
  const bool bytes = is_byte_product(types);
  const auto is_any_of = [&](auto... names) { return ((feature == names) || ...); };
  if (is_any_of("+avx", "+avx2", "+fma", "+f16c")) return true;  // of processors that lack one bit of level 3
  if (is_any_of("+avx512vnni", "+avx512vbmi", "+avx512vbmi2", "+dotprod", "+i8mm")) return bytes;
  if (feature == "+avxvnni") return bytes && target.vector_bits < 512;
  if (is_any_of("+amx-tile", "+amx-int8", "+amx-bf16")) {
    return has_matrix_unit(types, target) && (feature == "+amx-tile" || (feature == "+amx-int8") == bytes);
  }
  return feature == "+bf16" && has_float_squares(types, target);
}

std::vector<Machine> usual_machines() {
  const auto x86 = [](InstructionSet level, std::set<CpuFeature> features) {
    return Machine{.facts = CpuMachine{.instructions = level, .features = std::move(features)}};
  };
  using enum CpuFeature;
  std::vector<Machine> machines = {
      x86(InstructionSet::x86_64_v3, {avxvnni}),                              // Alder Lake
      x86(InstructionSet::x86_64_v4, {avx512vnni}),                           // Cascade Lake
      x86(InstructionSet::x86_64_v4, {avx512vnni, avx512vbmi, avx512vbmi2}),  // Ice Lake, Zen 4
      Machine{.facts = CpuMachine{.instructions = InstructionSet::arm64}},    // Cortex-A72
  };
  for (const std::string& name : machine_names()) {
    if (name != "host") machines.push_back(machine_named(name));
  }
  const auto is_unusual = [](const Machine& machine) {
    return machine.is_gpu() || machine.cpu().instructions == InstructionSet::x86_64_v2;
  };
  std::erase_if(machines, is_unusual);
  return machines;
}

}  // namespace

Target product_target(const ProductTypes& types, const Target& target) {
  Target result = target;
  result.name = target.cpu;
  if (is_integer(types.tile)) {
    result.sve_bits = 0;
  } else {
    result.i8_dot = result.i8_matmul = false;
  }
  result.f16_convert = result.f16_math = result.bf16_dot = false;
  result.bf16_matmul = has_float_squares(types, target);
  result.features.clear();
  for (const auto each : std::views::split(std::string_view(target.features), ',')) {
    const std::string_view feature(each.begin(), each.end());
    if (!matters(feature, types, target)) continue;
    if (!result.features.empty()) result.features += ',';
    result.features += feature;
  }
  return result;
}

std::vector<Target> usual_product_targets(const ProductTypes& types, const std::string& triple) {
  std::vector<Target> targets;
  for (const Machine& machine : usual_machines()) {
    const Target target = product_target(types, target_of(machine));
    if (target.triple == triple && std::ranges::find(targets, target) == targets.end()) targets.push_back(target);
  }
  return targets;
}

}  // namespace tenon::codegen
