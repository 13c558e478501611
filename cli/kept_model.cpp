#include "kept_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/fail.h"
#include "cost.h"
#include "donation.h"
#include "shape/not_representable.h"
#include "stopwatch.h"

namespace tenon::cli {
namespace {

constexpr const char* kFile = "file ";  // and its path: its identity
constexpr const char* kElements = "elements";
constexpr const char* kFlops = "flops";

/// A built-in model is what its name and this build of Tenon say.
std::string identity_of(const std::string& word) { return is_model_file(word) ? file_identity(word) : "built-in"; }

bool has_its_files(const ProgramFileInfo& info) {
  for (const auto& [key, value] : info.metadata) {
    if (key.starts_with(kFile) && file_identity(key.substr(std::string_view(kFile).size())) != value) {
      return false;
    }
  }
  return true;
}

}  // namespace

KeptModel::KeptModel(const Arguments& arguments, const CompileOptions& options)
    : identity_(identity_of(arguments.rest()[0])),
      options_(options),
      cache_(options.disk_cache && !identity_.empty() && !options.machine.is_gpu()) {
  const std::string& word = arguments.rest()[0];
  key_.add(is_model_file(word) ? std::filesystem::absolute(word).lexically_normal().string() : word);
  key_.add(identity_);
  for (const std::string& pair : arguments.all(kDonate.name)) {
    key_.add(pair);
  }
  key_.add(options_);
}

std::optional<ProgramFile> KeptModel::open() const {
  const std::string path = cache_.find(key_);
  if (path.empty()) {
    return std::nullopt;
  }
  try {
    ProgramFile file = open_program(path);
    if (has_its_files(file.info)) {
      return file;
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): damaged, it is made anew
  }
  cache_.remove(key_);
  return std::nullopt;
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

Executable KeptModel::compile(GraphModel&& model) {
  // What was read for some values or sizes, or with values of its own, is no program of the file alone.
  bool keeps = cache_.enabled() && model.decided.empty() && model.assumed.empty() && model.values.empty();
  BuildOptions options{.compile = options_, .usual = model.typical};
  for (const std::filesystem::path& file : model.files) {
    const std::string identity = file_identity(file.string());
    keeps = keeps && !identity.empty();
    options.metadata[kFile + file.string()] = identity;
  }
  if (keeps) {
    try {
      const CostBound cost = CostModel(model.graph).bound();
      options.metadata[kElements] = cost.elements.to_string();
      options.metadata[kFlops] = cost.flops.to_string();
    } catch (const NotRepresentable&) {
      keeps = false;
    }
  }
  if (!keeps) {
    return tenon::compile(std::move(model.graph), options_);
  }
  CompiledProgram compiled = compile_to_keep(std::move(model.graph), options);
  saved_ = std::move(compiled.saved);
  return std::move(compiled.executable);
}

void KeptModel::keep() const {
  if (saved_) cache_.store(key_, *saved_);
}

}  // namespace tenon::cli
