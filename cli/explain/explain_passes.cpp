#include "cli/explain/explain_passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <span>

#include "base/fail.h"
#include "cli/print/json.h"

namespace tenon::cli {
namespace {

/// Kernels to name by the time that their code took.
constexpr size_t kSlowest = 3;

}  // namespace

void print_passes(const CompileReport& report, int64_t kernels, const std::string& no_code, bool as_json) {
  double total = report.schedule_ms + report.codegen_ms;
  Json passes = Json::array();
  for (const PassRun& run : report.passes) {
    total += run.milliseconds;
    passes.push(Json::object().set("name", run.name).set("milliseconds", run.milliseconds).set("changed", run.changed));
  }
  std::vector<KernelReport> slowest = report.code_of;
  std::ranges::stable_sort(slowest, std::ranges::greater(), &KernelReport::milliseconds);
  if (as_json) {
    Json code = Json::array();
    for (const KernelReport& each : slowest) {
      code.push(Json::object().set("name", each.name).set("milliseconds", each.milliseconds));
    }
    Json json = Json::object().set("passes", passes).set("schedule_ms", report.schedule_ms);
    json.set("code_ms", no_code.empty() ? Json(report.codegen_ms) : Json())
        .set("all_ms", total)
        .set("kernels", kernels);
    json.set("functions", report.kernels)
        .set("code", no_code.empty() ? report.code : no_code)
        .set("code_of", code)
        .print();
    return;
  }
  fmt::print("  {:<22} {:>9}  {}\n", "pass", "ms", "changed the graph");
  for (const PassRun& run : report.passes) {
    fmt::print("  {:<22} {:>9.2f}  {}\n", run.name, run.milliseconds, run.changed ? "yes" : "no");
  }
  fmt::print("  {:<22} {:>9.2f}\n", "schedule", report.schedule_ms);
  if (no_code.empty()) {
    fmt::print("  {:<22} {:>9.2f}  {} kernels, {} functions: {}\n", "code", report.codegen_ms, kernels, report.kernels,
               report.code);
  } else {
    fmt::print("  {:<22} {:>9}  {}\n", "code", "-", no_code);
  }
  // LLVM runs on several threads: these may add up to more.
  for (const KernelReport& each : std::span(slowest).first(std::min(slowest.size(), kSlowest))) {
    if (each.milliseconds > 0) fmt::print("    {:<20} {:>9.2f}  {}\n", "of a kernel", each.milliseconds, each.name);
  }
  fmt::print("  {:<22} {:>9.2f}\n", "all", total);
}

const Graph& graph_after(const std::string& pass, const std::vector<PassRun>& runs) {
  const size_t colon = pass.find(':');
  const std::string name = pass.substr(0, colon);
  std::vector<const PassRun*> found;
  for (const PassRun& run : runs) {
    if (run.name == name) {
      found.push_back(&run);
    }
  }
  if (found.empty()) {
    fail("no pass called `{}` ran; there is: {}", name, fmt::join(compile_passes(), ", "));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (colon == std::string::npos ? i + 1 == found.size() : pass.substr(colon + 1) == std::to_string(i + 1)) {
      return found[i]->after;
    }
  }
  fail("`--after {}`: pass `{}` ran {} times", pass, name, found.size());
}

}  // namespace tenon::cli
