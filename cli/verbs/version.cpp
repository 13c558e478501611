// `tenon version`: what this build is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/print/json.h"
#include "cli/print/units.h"
#include "cli/verb.h"
#include "compiler/inspect.h"
#include "tenon/error.h"
#include "tenon/gpu.h"
#include "tenon/machine.h"

namespace tenon::cli {
namespace {

#ifdef TENON_WITH_ONNX
constexpr bool kOnnx = true;
#else
constexpr bool kOnnx = false;
#endif

struct CacheUse {
  int64_t files = 0;
  int64_t bytes = 0;
};

/// What lies in the cache's folder, which others may change meanwhile.
CacheUse cache_use(const std::string& folder) {
  CacheUse use;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const auto bytes = it->file_size(gone);
    if (!gone) {
      ++use.files;
      use.bytes += static_cast<int64_t>(bytes);
    }
  }
  return use;
}

/// The first GPU; none where there is none that can be used, which the Error says.
struct FoundGpu {
  std::optional<Machine> machine;
  std::string problem;
};

FoundGpu find_gpu() {
  try {
    return {.machine = gpu(), .problem = {}};
  } catch (const Error& error) {
    return {.machine = std::nullopt, .problem = error.what()};
  }
}

Json gpu_as_json(const FoundGpu& found) {
  Json json = Json::object().set("problem", found.problem);
  if (!found.machine) return json;
  const GpuMachine& facts = found.machine->gpu();
  return json.set("name", found.machine->name)
      .set("architecture", facts.architecture)
      .set("multiprocessors", facts.multiprocessors)
      .set("memory", facts.memory)
      .set("bandwidth", facts.bandwidth)
      .set("block_shared_memory", facts.block_shared_memory);
}

std::string gpu_as_text(const FoundGpu& found) {
  if (!found.machine) return found.problem;
  const GpuMachine& facts = found.machine->gpu();
  return fmt::format("{}, {}, {} multiprocessors, {} of memory", found.machine->name, facts.architecture,
                     facts.multiprocessors, bytes_text(facts.memory));
}

int run_version(const Arguments& arguments) {
  const compiler::BuildReport report = compiler::build_report();
  constexpr std::string_view on = "on: ";
  const bool cached = report.cache.starts_with(on);
  const CacheUse use = cached ? cache_use(report.cache.substr(on.size())) : CacheUse();
  const std::string llvm = TENON_LLVM_VERSION;
  const CpuMachine& machine = this_machine().cpu();
  std::vector<std::string_view> features;
  for (const CpuFeature feature : machine.features) {
    features.push_back(name(feature));
  }
  if (arguments.has("--json")) {
    Json cache = Json::object().set("status", report.cache).set("files", use.files).set("bytes", use.bytes);
    Json::object()
        .set("version", TENON_VERSION)
        .set("kernels", report.code)
        .set("problem", report.problem)
        .set("llvm", llvm)
        .set("target", report.target)
        .set("machine", Json::object()
                            .set("instructions", name(machine.instructions))
                            .set("features", features)
                            .set("sve_bits", machine.sve_bits)
                            .set("cores", machine.cores)
                            .set("first_cache", machine.first_cache)
                            .set("second_cache", machine.second_cache)
                            .set("last_cache", machine.last_cache))
        .set("gpu", gpu_as_json(find_gpu()))
        .set("onnx", kOnnx)
        .set("cache", cache)
        .print();
    return 0;
  }
  fmt::print("tenon {}\n  kernels  {}\n", TENON_VERSION, report.code);
  if (!report.problem.empty()) {
    fmt::print("  problem  {}; programs that were built run all the same\n", report.problem);
  }
  if (!report.target.empty()) {
    fmt::print("  LLVM     {}\n  target   {}\n", llvm, report.target);
  }
  fmt::print("  machine  {} cores, each with {} and {} of cache{}{}\n", machine.cores, bytes_text(machine.first_cache),
             bytes_text(machine.second_cache), features.empty() ? "" : "; ", fmt::join(features, ", "));
  fmt::print("  GPU      {}\n", gpu_as_text(find_gpu()));
  fmt::print("  ONNX     {}\n", kOnnx ? "import and export" : "not in this build");
  fmt::print("  cache    {}{}\n", report.cache,
             cached ? fmt::format(", {} in {} files", bytes_text(use.bytes), use.files) : "");
  return 0;
}

}  // namespace

const Verb kVersionVerb{.name = "version",
                        .words = "",
                        .doc = "print the version, what is built in, the machine that code is made for, the cache",
                        .about = "The cache holds machine code by its content; deleting it costs compile time only.",
                        .run = run_version};

}  // namespace tenon::cli
