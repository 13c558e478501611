// `tenon bench`: latency and throughput over sizes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "cli/bench/bench_comparison.h"
#include "cli/bench/measured.h"
#include "cli/bench/plot.h"
#include "cli/bench/sweep.h"
#include "cli/models/files.h"
#include "cli/models/kept_model.h"
#include "cli/models/program_file.h"
#include "cli/models/stateful_run.h"
#include "cli/print/cost.h"
#include "cli/print/json.h"
#include "cli/print/run_stats.h"
#include "cli/print/stopwatch.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/verb.h"
#include "cli/words/compile_options.h"
#include "cli/words/donation.h"
#include "cli/words/inputs.h"
#include "tenon/tenon.h"

namespace tenon::cli {
namespace {

constexpr Option kBenchOptions[] = {
    {"--sweep", "NAME=SIZES", "go through sizes of an axis: 1,2,4,8 or FROM:TO:STEP; several give all combinations",
     true},
    {"--bind", "NAME=SIZE,...", "sizes of the other axes; built-in models have usual ones"},
    {"--input", "NAME=SOURCE", "`random` (the default), `zeros` or `ones`; without NAME=, for all inputs", true},
    {"--svg", "FILE.svg", "write a plot of latency and throughput", false, true},
    {"--save", "FILE.json", "write the times, for a later `--against`", false, true},
    {"--against", "OTHER", "say at which sizes this is faster or slower than OTHER: a file of `--save`, or a model"},
    kStatsOption,
    {"--repeat", "N", "at least N runs for each point (default 3)"},
    {"--seconds", "S", "go on for this long at each point (default 0.2)"},
    {"--threads", "N", "at most N threads"},
    {"--flush-denormals", "", "take numbers too small for full precision for 0: faster where there are many"},
    kDevice,
    kDonate,
    kNoPipelines,
    kNoWinograd,
    kPipelineRows,
    kNoCacheOption,
    kWeights,
    kPrecision,
    kLongOption,
};

constexpr Example kBenchExamples[] = {
    {"bench mlp --sweep batch=1,2,4,8", "how latency grows with the batch"},
    {"bench bert_base --sweep seq=16:128:16 --svg bert.svg", "sequences of every length, and a plot"},
    {"bench mlp --sweep batch=1,8 --save before.json", "times to hold a later version against"},
    {"bench mlp --sweep batch=1,8 --against before.json", "status 1 if it got slower by more than noise"},
    {"bench new.onnx --against old.onnx", "both at once, in turn"},
    {"bench model.onnx --sweep batch=1,8 --sweep seq=16,77,128", "every combination"},
};

/// One binding, measured. Times in microseconds.
struct Point {
  Bindings swept, bindings;
  double specialize = 0;
  double first = 0;  // run, and memory for it
  double median = 0, least = 0;
  size_t runs = 0;
  double flops = 0;  // of products and convolutions

  double runs_per_second() const { return 1e6 / median; }
  double gflops() const { return flops / median / 1e3; }
};

Point measure(const Measured& measured, const Bindings& swept, const Bindings& sizes, const BenchSettings& settings,
              const Arguments& arguments) {
  const Executable& executable = *measured.executable;
  const PreparedInputs prepared =
      prepare_inputs(measured.ports, sizes, arguments.all("--input"), [&](const Bindings& bindings) {
        if (measured.model) announce_cost(measured.cost, bindings, arguments);
        return true;
      });
  StatefulRun state(executable, measured.aliases, prepared.arrays());
  const RunOptions options{.threads = settings.threads,
                           .bindings = prepared.bindings,
                           .flush_denormals = settings.flush_denormals,
                           .results_on_device = true};
  Point point{.swept = swept, .bindings = prepared.bindings};
  const FirstRun first = first_run(executable, prepared.bindings, [&] { state(options); });
  point.specialize = first.specialize;
  point.first = first.run;
  const Samples samples = sample([&] { state(options); }, settings.repeat, settings.microseconds);
  point.median = samples.median();
  point.least = samples.least();
  point.runs = samples.times.size();
  const auto is_bound = [&](const std::string& name) { return prepared.bindings.find(name).has_value(); };
  if (std::ranges::all_of(measured.macs.names(), is_bound)) {  // not where data decide how many there are
    point.flops = 2 * static_cast<double>(evaluate(measured.macs, prepared.bindings));
  }
  return point;
}

std::vector<Bindings> bindings_of(const std::vector<Point>& points) {
  std::vector<Bindings> all;
  std::ranges::transform(points, std::back_inserter(all), &Point::bindings);
  return all;
}

/// Every combination of the other sweeps is a line over the last one.
std::string plot(const std::string& title, const std::vector<Point>& points, const Sweep& along) {
  Panel latency{.title = "latency", .x_label = along.axis, .y_label = "microseconds", .logarithmic = true, .lines = {}};
  const bool has_products = points[0].flops > 0;
  Panel rate{.title = "throughput",
             .x_label = along.axis,
             .y_label = has_products ? "GFLOP/s" : "runs/s",
             .logarithmic = false,
             .lines = {}};
  int colour = 0;
  for (size_t begin = 0; begin < points.size(); begin += along.sizes.size(), ++colour) {
    std::string others;
    for (const auto& [name, size] : points[begin].swept) {
      others += name == along.axis ? "" : fmt::format("{}={} ", name, size);
    }
    Line steady{.name = others + "steady", .dashed = false, .colour = colour, .points = {}};
    Line first{.name = others + "specialise and first run", .dashed = true, .colour = colour, .points = {}};
    Line speed = steady;
    for (size_t i = begin; i < begin + along.sizes.size(); ++i) {
      const auto x = static_cast<double>(points[i].swept.at(along.axis));
      steady.points.emplace_back(x, points[i].median);
      first.points.emplace_back(x, points[i].specialize + points[i].first);
      speed.points.emplace_back(x, has_products ? points[i].gflops() : points[i].runs_per_second());
    }
    latency.lines.push_back(steady);
    latency.lines.push_back(first);
    rate.lines.push_back(speed);
  }
  return plot_svg(title, {latency, rate});
}

void print_json(const Measured& measured, const std::vector<Point>& points, bool stats,
                const BenchComparison& comparison) {
  Json list = Json::array();
  for (const Point& point : points) {
    Json sizes = Json::object();
    for (const auto& [name, size] : point.bindings) {
      sizes.set(name, size);
    }
    list.push(Json::object()
                  .set("bindings", sizes)
                  .set("specialize_us", point.specialize)
                  .set("first_us", point.first)
                  .set("median_us", point.median)
                  .set("least_us", point.least)
                  .set("runs", point.runs)
                  .set("runs_per_second", point.runs_per_second())
                  .set("gflops", point.gflops()));
  }
  Json json = Json::object();
  json.set("model", measured.name)
      .set("compiles", measured.compiles)
      .set("kept", measured.is_kept)
      .set("compile_us", measured.compile_time)
      .set("code", measured.code)
      .set("points", list);
  if (stats) {
    json.set("stats", run_stats_json(*measured.executable));
  }
  if (comparison.is_against()) {
    json.set("against", comparison.to_json());
  }
  json.print();
}

void print_row(const Point& point, size_t width) {
  fmt::print("  {:<{}} {:>11} {:>11} {:>11} {:>11} {:>10} {:>9}\n",
             point.swept.empty() ? "all" : point.swept.to_string(), width, time_text(point.specialize),
             time_text(point.first), time_text(point.median), time_text(point.least),
             count_text(point.runs_per_second()), point.flops > 0 ? fmt::format("{:.3g}", point.gflops()) : "-");
}

Bindings with(Bindings sizes, const Bindings& more) {
  for (const auto& [name, size] : more) {
    sizes.set(name, size);
  }
  return sizes;
}

/// Whether a run is to be announced, or refused, which takes the graph. So does telling what is wrong with a size.
bool is_any_long(const ProgramFileInfo& info, const Bindings& bound, const std::vector<Bindings>& swept) {
  return std::ranges::any_of(swept, [&](const Bindings& each) {
    try {
      return KeptModel::is_long(info, complete_bindings(ports_of(info), with(bound, each)));
    } catch (const Error&) {
      return true;
    }
  });
}

int run_bench(const Arguments& arguments) {
  const bool as_json = arguments.has("--json");
  const std::vector<Sweep> sweeps = parse_sweeps(arguments.all("--sweep"));
  const std::vector<Bindings> swept = combinations(sweeps);
  const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
  if (arguments.has("--svg") && sweeps.empty()) {
    fail("`--svg` plots over a swept axis; give one: --sweep batch=1,2,4,8");
  }
  const BenchSettings settings{.repeat = static_cast<size_t>(arguments.find_number("--repeat", 1).value_or(3)),
                               .microseconds = arguments.find_real("--seconds").value_or(0.2) * 1e6,
                               .threads = static_cast<int>(arguments.find_number("--threads", 1).value_or(0)),
                               .flush_denormals = arguments.has("--flush-denormals")};
  const Progress progress;
  progress.show("loading");
  const auto load = [&](const std::string& word, const Bindings& sizes) {
    return with_donations(arguments,
                          load_model(word, {.weights = true, .inputs = arguments.all("--input"), .sizes = sizes}));
  };
  const std::string& word = arguments.rest()[0];
  const bool is_program = is_program_file(word);
  if (is_program) require_no_compile_options(arguments);
  CompileOptions compile_options;
  take_compile_options(arguments, compile_options);
  BenchComparison comparison(arguments);
  std::optional<KeptModel> other_kept;
  const auto load_other = [&](const std::string& other) {
    if (is_program_file(other)) return Measured(other);
    other_kept.emplace(other, arguments, compile_options);
    return Measured(load(other, bound), *other_kept);
  };
  KeptModel kept(word, arguments, compile_options);
  std::optional<Measured> opened;
  if (is_program) {
    opened.emplace(word);
  } else if (std::optional<ProgramFile> file = kept.open(); file && !is_any_long(file->info, bound, swept)) {
    opened.emplace(*std::move(file));
  } else {
    GraphModel model = load(word, bound);
    for (const Bindings& each : swept) {
      check_names(each, axis_names(model.graph), "--sweep");
    }
    progress.show("compiling");
    opened.emplace(std::move(model), kept);
  }
  Measured& measured = *opened;
  measured.name = title_of(word);
  for (const Bindings& each : swept) {
    check_names(each, measured.ports.axes, "--sweep");
  }
  progress.show("");
  size_t width = 7;
  for (const Bindings& each : swept) {
    width = std::max(width, each.to_string().size());
  }
  if (!as_json) {
    fmt::print("{}: {} in {}, {}{}\n", bold(measured.name), is_program || measured.is_kept ? "loaded" : "compiled once",
               time_text(measured.compile_time), measured.code, measured.is_kept ? ", kept from an earlier run" : "");
    fmt::print("  {:<{}} {:>11} {:>11} {:>11} {:>11} {:>10} {:>9}\n", "binding", width, "specialise", "first run",
               "median", "least", "runs/s", "GFLOP/s");
  }
  if (comparison.is_against()) {
    std::vector<Bindings> all;
    for (const Bindings& each : swept) {
      all.push_back(complete_bindings(measured.ports, with(bound, each)));
    }
    comparison.open(all, load_other);
  }
  std::vector<Point> points;
  for (const Bindings& each : swept) {
    progress.show(fmt::format("{} of {}", points.size() + 1, swept.size()));
    const Bindings sizes = with(bound, each);
    if (measured.model && !is_read_for(*measured.model, sizes)) {
      if (comparison.is_asked()) {
        fail("`--save` and `--against` are of one program, and {} needs another", each.to_string());
      }
      measured.executable.reset();  // its weights would be there twice
      measured.model = load(word, sizes);
      measured.compile(kept);
      progress.show("");
      if (!as_json) {
        fmt::print("  {} is another program: compiled in {}\n", each.to_string(), time_text(measured.compile_time));
      }
    }
    points.push_back(measure(measured, each, sizes, settings, arguments));
    progress.show("");
    if (!as_json) {
      print_row(points.back(), width);
      std::fflush(stdout);
    }
  }
  if (comparison.is_asked()) {
    comparison.run(measured, bindings_of(points), settings, arguments);
  }
  if (as_json) {
    print_json(measured, points, arguments.has("--stats"), comparison);
  } else if (arguments.has("--stats")) {
    fmt::print("{}", run_stats_text(*measured.executable));
  }
  if (!as_json) {
    fmt::print("{}", comparison.text());
  }
  if (const auto file = arguments.find("--svg")) {
    write_text(*file, plot(measured.name, points, sweeps.back()));
  }
  std::fflush(stdout);
  kept.keep();
  if (other_kept) other_kept->keep();
  return comparison.is_slower() ? 1 : 0;
}

}  // namespace

const Verb kBenchVerb{
    .name = "bench",
    .words = "MODEL",
    .doc = "measure latency and throughput over sizes; a table, and a plot",
    .about =
        "The model is compiled once. For each binding: what it costs to specialise it and to run it the first "
        "time, with the memory it takes, and the median and least of later runs. State that outputs update (caches of "
        "gpt2, and what --donate names) goes from one run to the next, in place.",
    .options = kBenchOptions,
    .examples = kBenchExamples,
    .run = run_bench};

}  // namespace tenon::cli
