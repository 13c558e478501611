#include "report/host_roofs.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "base/hash.h"
#include "build/kept_text.h"
#include "tenon/machine.h"

namespace tenon::report {
namespace {

constexpr size_t kMostRoofBytes = size_t{64} << 10;

/// What tells processors apart that have the same facts.
std::string model_of_processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  std::string model;
  while (std::getline(file, line) && !line.empty()) {  // of the first core
    for (const std::string_view key : {"model name", "CPU implementer", "CPU part", "CPU variant"}) {
      model += line.starts_with(key) ? line + '\n' : "";
    }
  }
  return model;
}

std::string file_of_roofs() {
  const std::string machine = to_text(this_machine()) + model_of_processor();
  return fmt::format("{:016x}.roofs", hash_bytes({machine.data(), machine.size()}));
}

roofs::Roofs measure_anew(const RoofsOptions& options) {
  if (options.before_measuring) {
    options.before_measuring();
  }
  return roofs::measure_roofs(this_machine().cpu());
}

}  // namespace

roofs::Roofs host_roofs(const RoofsOptions& options) {
  if (const auto text = options.keep ? kept_text(file_of_roofs(), kMostRoofBytes) : std::nullopt) {
    auto kept = roofs::parse_roofs(*text);
    if (kept && kept->levels == roofs::levels_of(this_machine().cpu())) {
      return std::move(*kept);
    }
  }
  roofs::Roofs roofs = measure_anew(options);
  if (options.keep) {
    keep_text(file_of_roofs(), to_text(roofs));
  }
  return roofs;
}

roofs::Roofs host_roofs_again(const roofs::Roofs& roofs, const RoofsOptions& options) {
  roofs::Roofs higher = measure_anew(options);
  higher.raise_to(roofs);
  if (options.keep) {
    keep_text(file_of_roofs(), to_text(higher));
  }
  return higher;
}

}  // namespace tenon::report
