#include "tenon/machine.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>

#include "base/fail.h"

namespace tenon {
namespace {

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;

/// A machine for each instruction set, in the order of these; "host" stands for what is found.
struct NamedMachine {
  InstructionSet instructions;
  std::string_view name;
  int64_t cores, first_cache, second_cache;
};
constexpr std::array kMachines = {
    NamedMachine{InstructionSet::host, "host", 0, 0, 0},
    NamedMachine{InstructionSet::x86_64_v2, "x86-64-v2", 4, 32 * kKiB, 256 * kKiB},
    NamedMachine{InstructionSet::x86_64_v3, "x86-64-v3", 8, 32 * kKiB, 512 * kKiB},
    NamedMachine{InstructionSet::x86_64_v4, "x86-64-v4", 16, 48 * kKiB, 2 * kMiB},
    NamedMachine{InstructionSet::armv8_2, "armv8.2", 16, 64 * kKiB, kMiB},
};

int64_t read_size(const std::string& path) {
  std::ifstream file(path);
  int64_t size = 0;
  char unit = 0;
  file >> size >> unit;
  return unit == 'K' ? size * kKiB : unit == 'M' ? size * kMiB : size;
}

// Caches from /sys: sysconf() knows nothing of them on some ARM machines.
Machine find_this_machine() {
  Machine machine;
  machine.cores = std::max(1u, std::thread::hardware_concurrency());
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream file(folder + "type");
    std::string type;
    file >> type;
    if (type != "Data" && type != "Unified") continue;
    const int64_t level = read_size(folder + "level");
    const int64_t size = read_size(folder + "size");
    if (level == 1 && size > 0) machine.first_cache = size;
    if (level == 2 && size > 0) machine.second_cache = size;
  }
  return machine;
}

}  // namespace

std::string_view name(InstructionSet set) { return kMachines.at(static_cast<size_t>(set)).name; }

const Machine& this_machine() {
  static const Machine machine = find_this_machine();
  return machine;
}

Machine machine_named(std::string_view name) {
  const auto* const found = std::ranges::find(kMachines, name, &NamedMachine::name);
  if (found == kMachines.end()) {
    fail("there is no machine `{}`; the machines are {}", name, fmt::join(machine_names(), ", "));
  }
  if (found->instructions == InstructionSet::host) return this_machine();
  return {.name = std::string(found->name),
          .instructions = found->instructions,
          .cores = found->cores,
          .first_cache = found->first_cache,
          .second_cache = found->second_cache};
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const NamedMachine& machine : kMachines) {
    names.emplace_back(machine.name);
  }
  return names;
}

}  // namespace tenon
