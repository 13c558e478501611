// What a compile costs: LLVM for one kernel, and a 12-layer encoder as a whole, with and without the disk cache.
#include "tenon/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "support/count_graphs.h"
#include "support/kernel_times.h"
#include "support/report.h"
#include "support/timing.h"
#include "tenon/tenon.h"

namespace {

using namespace tenon;  // NOLINT: as in other programs here

struct Compiled {
  double seconds = 0;
  CompileReport report;
};

Compiled compile_anew(const Graph& graph, bool disk_cache) {
  Compiled result;
  result.seconds =
      bench::seconds_of(2, 1, [&] { (void)compile(graph, {.disk_cache = disk_cache, .report = &result.report}); });
  return result;
}

double sum_without_products(const CompileReport& report) {
  double milliseconds = 0;
  for (const KernelReport& each : report.code_of) {
    milliseconds += each.has_products ? 0 : each.milliseconds;
  }
  return milliseconds;
}

void measure_encoder(bench::Report& report) {
  const Graph bert_base = with_weights(bert());
  const Compiled first = compile_anew(bert_base, false);
  report.add("bert_base.first", first.seconds, "s", 1, bench::Better::lower, "no disk cache");
  report.add("bert_base.rows_and_maps", sum_without_products(first.report), "ms", 200, bench::Better::lower,
             "LLVM for all kernels without products");
  (void)compile_anew(bert_base, true);  // fills the disk cache, in case it was empty
}

/// A process that finds all code on disk: this one has it in memory by now.
void measure_from_disk(bench::Report& report, const char* program) {
  const std::string command = fmt::format("'{}' --from-disk", program);
  FILE* const output = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): our own program
  double seconds = -1;
  if (output == nullptr || std::fscanf(output, "%lf", &seconds) != 1) seconds = -1;
  if (output != nullptr) pclose(output);
  if (seconds < 0) {
    report.add_pending("bert_base.from_disk", "s", 0.1, bench::Better::lower, "the second process said nothing");
    return;
  }
  report.add("bert_base.from_disk", seconds, "s", 0.1, bench::Better::lower, "another process");
}

void measure_kernels(bench::Report& report) {
  std::vector<Graph> graphs;
  for (const auto& some : {bench::count_graphs(), bench::product_graphs(), bench::model_graphs()}) {
    for (const bench::CountGraph& each : some) {
      graphs.push_back(each.graph);
    }
  }
  const std::vector<bench::KernelTime> all = bench::kernel_times(graphs);
  for (const bool products : {false, true}) {
    std::vector<bench::KernelTime> some;
    std::ranges::copy_if(all, std::back_inserter(some),
                         [&](const bench::KernelTime& each) { return each.has_products == products; });
    if (some.empty()) continue;
    std::ranges::sort(some, {}, &bench::KernelTime::milliseconds);
    const auto at = [&](double share) {
      return some[static_cast<size_t>(share * static_cast<double>(some.size() - 1))];
    };
    const std::string kind = products ? "products" : "rows_and_maps";
    report.add(
        kind + ".median", at(0.5).milliseconds, "ms", 10, bench::Better::lower,
        fmt::format("LLVM for a kernel, of {}; nine of ten at most {:.1f} ms", some.size(), at(0.9).milliseconds));
    report.add(kind + ".most", at(1).milliseconds, "ms", {}, bench::Better::lower, at(1).name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--from-disk") {
    const Graph bert_base = with_weights(bert());
    fmt::print("{}\n", compile_anew(bert_base, true).seconds);
    return 0;
  }
  bench::Report report(argc, argv);
  CompileReport warm;
  const Value x = input("x", shape(f32, "n"));
  (void)compile(Graph({x}, {{"y", relu(x)}}), {.disk_cache = false, .report = &warm});
  if (warm.code == "loop interpreter") {
    report.add_pending("compile", "ms", 10, bench::Better::lower, "this build makes no native code");
    return report.finish();
  }
  measure_encoder(report);
  measure_from_disk(report, argv[0]);
  measure_kernels(report);
  return report.finish();
}
