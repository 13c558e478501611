// `tenon demo`, which is what `./dev run` shows: one compile, many sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "cli/print/json.h"
#include "cli/print/stopwatch.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/verb.h"
#include "cli/words/inputs.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

/// A sentence encoder of a usual small size.
Model encoder() { return bert({.layers = 6, .heads = 12, .width = 384, .hidden = 1536}); }

const Bindings kBindings[] = {{{"batch", 1}, {"seq", 1}},   {{"batch", 1}, {"seq", 16}}, {{"batch", 1}, {"seq", 77}},
                              {{"batch", 1}, {"seq", 128}}, {{"batch", 2}, {"seq", 50}}, {{"batch", 3}, {"seq", 33}},
                              {{"batch", 8}, {"seq", 16}},  {{"batch", 0}, {"seq", 5}}};
const Bindings kCompared{{"batch", 2}, {"seq", 3}};

struct Row {
  Bindings sizes;
  Shape output;
  double first = 0, steady = 0, gflops = 0;
};

double largest_difference(const Array& a, const Array& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(a.at(i) - b.at(i)));
  }
  return largest;
}

int run_demo(const Arguments& arguments) {
  const Progress progress;
  progress.show("building the model");
  const GraphModel model{.graph = with_weights(encoder()), .typical = {}, .decided = {}};
  const Extent macs = count_macs(model.graph);
  progress.show("compiling");
  CompileReport report;
  std::optional<Executable> executable;
  const double compile_time = microseconds([&] { executable = compile(model.graph, {.report = &report}); });
  progress.show("");
  const bool as_json = arguments.has("--json");
  if (!as_json) {
    fmt::print("A BERT encoder of 6 layers, f32[batch, seq, 384], compiled once in {}: {} steps, {}.\n\n",
               time_text(compile_time), executable->steps().size(), report.code);
    fmt::print("  {:<18} {:<27} {:>10} {:>11} {:>9}\n", "binding", "output", "first run", "later runs", "GFLOP/s");
  }
  Json rows = Json::array();
  for (const Bindings& sizes : kBindings) {
    const std::vector<Array> inputs = prepare_inputs(model, sizes, {}).arrays();
    Row row{.sizes = sizes, .output = resolve(executable->outputs()[0].shape, sizes)};
    row.first = microseconds([&] { executable->run(inputs); });
    row.steady = sample([&] { executable->run(inputs); }, 3, 1e5).median();
    row.gflops = 2e-3 * static_cast<double>(evaluate(macs, sizes)) / row.steady;
    rows.push(Json::object()
                  .set("bindings", sizes.to_string())
                  .set("first_us", row.first)
                  .set("median_us", row.steady)
                  .set("gflops", row.gflops));
    if (!as_json) {
      fmt::print("  {:<18} {:<27} {:>10} {:>11} {:>9.1f}\n", sizes.to_string(), row.output.to_string(),
                 time_text(row.first), time_text(row.steady), row.gflops);
      std::fflush(stdout);
    }
  }
  const RunCounters counters = executable->counters();
  progress.show("asking the interpreter");
  const std::vector<Array> inputs = prepare_inputs(model, kCompared, {}).arrays();
  const double difference = largest_difference(executable->run(inputs)[0], interpret(model.graph, inputs)[0]);
  progress.show("");
  if (as_json) {
    Json::object()
        .set("compiles", 1)
        .set("compile_us", compile_time)
        .set("specializations", counters.specializations)
        .set("hits", counters.hits)
        .set("difference", difference)
        .set("rows", rows)
        .print();
    return 0;
  }
  fmt::print("\n  compiles: 1   specialisations: {}   runs that found theirs: {}\n", counters.specializations,
             counters.hits);
  fmt::print("  largest difference from the interpreter, at {}: {:.1e}\n\n", kCompared.to_string(), difference);
  fmt::print(
      "Where to go next ({} is build/release/tenon after ./dev run):\n"
      "  tenon run bert_base --bind batch=8,seq=77         one model, your sizes, or your .npy files\n"
      "  tenon explain examples/block.graph --html b.html  which kernels run, and why\n"
      "  tenon bench mlp --sweep batch=1:64:9              latency over sizes\n"
      "  tenon help                                        the rest\n",
      bold("tenon"));
  return 0;
}

}  // namespace

const Verb kDemoVerb{.name = "demo",
                     .words = "",
                     .doc = "compile a small transformer once, run it at eight bindings, print times",
                     .about = "This is what `./dev run` shows.",
                     .run = run_demo};

}  // namespace tenon::cli
