#include "cli/models/kept_model.h"

#include <utility>

#include "base/fail.h"
#include "cli/print/cost.h"
#include "cli/print/stopwatch.h"
#include "cli/words/donation.h"
#include "shape/not_representable.h"

namespace tenon::cli {
namespace {

// Keys of metadata: what a run costs, as expressions of sizes.
constexpr const char* kElements = "elements";
constexpr const char* kFlops = "flops";
constexpr const char* kMacs = "macs";

KeptModelKey key_of(const std::string& word, const Arguments& arguments) {
  return {.model = word, .is_file = is_model_file(word), .more = arguments.all(kDonate.name)};
}

}  // namespace

KeptModel::KeptModel(const std::string& word, const Arguments& arguments, const CompileOptions& options)
    : options_(options), program_(key_of(word, arguments), options) {}

std::optional<ProgramFile> KeptModel::open() const {
  std::optional<KeptExecutable> found;
  const double us = microseconds([&] { found = program_.open(); });
  if (!found) {
    return std::nullopt;
  }
  return ProgramFile{.info = std::move(found->info), .executable = std::move(found->executable), .load_us = us};
}

bool KeptModel::is_long(const ProgramFileInfo& info, const Bindings& sizes) {
  try {
    const auto count = [&](const char* key) {
      return static_cast<double>(evaluate(Extent::parse(info.metadata.at(key)), sizes));
    };
    return Cost{.elements = count(kElements), .flops = count(kFlops)}.seconds() >= kLongRun;
  } catch (const Error&) {  // beyond 64 bits, or sizes that only data decide
    return true;
  }
}

Extent KeptModel::macs(const ProgramFileInfo& info) { return Extent::parse(info.metadata.at(kMacs)); }

Executable KeptModel::compile(GraphModel&& model) {
  // What was read for some values or sizes, or with values of its own, is no program of the file alone.
  bool keeps = program_.enabled() && model.decided.empty() && model.assumed.empty() && model.values.empty();
  BuildOptions build{.compile = options_, .usual = model.typical};
  if (keeps) {
    try {
      const CostBound cost = CostModel(model.graph).bound();
      build.metadata[kElements] = cost.elements.to_string();
      build.metadata[kFlops] = cost.flops.to_string();
      build.metadata[kMacs] = count_macs(model.graph).to_string();
    } catch (const NotRepresentable&) {
      keeps = false;
    }
  }
  if (!keeps) {
    return tenon::compile(std::move(model.graph), options_);
  }
  return program_.compile(std::move(model.graph), std::move(build), model.files);
}

}  // namespace tenon::cli
