#include "cli/mesh/partition_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/fail.h"
#include "cli/bench/rounding.h"
#include "cli/partition/partition_run.h"
#include "cli/print/json.h"
#include "cli/print/stopwatch.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/words/inputs.h"
#include "mesh/pipeline/placed_parts.h"

namespace tenon::cli {
namespace {

using partition::Plan;

constexpr int kRepeats = 5;

/// The rank of each part: in order, none without a part, each with about as much of the estimated time.
std::vector<int> deal(const Plan& plan, int ranks) {
  const auto parts = static_cast<int>(plan.parts.size());
  if (parts < ranks) fail("the plan has {} part{}, and there are {} ranks", parts, parts == 1 ? "" : "s", ranks);
  double total = 0;
  for (const partition::Part& part : plan.parts) {
    total += part.figures.seconds;
  }
  std::vector<int> result;
  double before = 0;
  for (int p = 0; p < parts; ++p) {
    const double seconds = plan.parts[static_cast<size_t>(p)].figures.seconds;
    const int wanted = total > 0 ? static_cast<int>((before + seconds / 2) / total * ranks) : p * ranks / parts;
    const int last = result.empty() ? -1 : result.back();
    // Not before the one of the part before it, one further at most, and no later rank may be left without a part.
    result.push_back(std::clamp(wanted, std::max({last, 0, ranks - (parts - p)}), std::min(last + 1, ranks - 1)));
    before += seconds;
  }
  return result;
}

struct RankFigures {
  double compute_us = 0;
  double sent_bytes = 0;
};

struct RanksRun {
  std::vector<int> rank_of;
  std::vector<RankFigures> ranks;
  double us = 0, whole_us = 0;
  std::vector<OutputMatch> outputs;
};

void print_text(const RanksRun& run, const Plan& plan) {
  fmt::print("{} parts on {} ranks: {} a run, one piece of data at a time; the whole in one process {}\n",
             plan.parts.size(), run.ranks.size(), time_text(run.us), time_text(run.whole_us));
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    const auto [first, last] = std::ranges::equal_range(run.rank_of, static_cast<int>(r));
    fmt::print("  rank {}  parts {} to {}  computes {:>10}  sends {:>11}\n", r, first - run.rank_of.begin() + 1,
               last - run.rank_of.begin(), time_text(run.ranks[r].compute_us),
               bytes_text(static_cast<int64_t>(run.ranks[r].sent_bytes)));
  }
  fmt::print("{}", matches_text(run.outputs));
}

void print_json(const RanksRun& run, const Plan& plan) {
  Json ranks = Json::array();
  for (size_t r = 0; r < run.ranks.size(); ++r) {
    ranks.push(Json::object()
                   .set("parts", std::ranges::count(run.rank_of, static_cast<int>(r)))
                   .set("compute_us", run.ranks[r].compute_us)
                   .set("sent_bytes", run.ranks[r].sent_bytes));
  }
  Json::object()
      .set("model", plan.model)
      .set("parts", plan.parts.size())
      .set("ranks", ranks)
      .set("us", run.us)
      .set("whole_us", run.whole_us)
      .set("outputs", matches_json(run.outputs))
      .print();
}

std::vector<RankFigures> of_all_ranks(const RankFigures& own, mesh::Communicator& world) {
  std::vector<RankFigures> all(static_cast<size_t>(world.size()));
  world
      .all_gather(reinterpret_cast<const std::byte*>(&own), std::vector<size_t>(all.size(), sizeof(own)),
                  reinterpret_cast<std::byte*>(all.data()))
      ->wait();
  return all;
}

}  // namespace

int run_plan_on_ranks(const Arguments& arguments, const PartitionModel& model, const Plan& plan,
                      mesh::Communicator& world) {
  RanksRun run{.rank_of = deal(plan, world.size()), .ranks = {}, .outputs = {}};
  std::vector<mesh::PlacedPart> parts;
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    parts.push_back({.graph = part_graph(model.work, plan, i), .rank = run.rank_of[i]});
  }
  const PreparedInputs prepared = prepare_inputs(model.model, model.bindings, {});
  const std::vector<Array> inputs = prepared.arrays();
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / world.ranks_here());
  mesh::PlacedParts placed(model.model.graph, std::move(parts), world, mesh::compiling({}, threads));
  const std::vector<Array> outputs = placed.collect(placed.run(inputs, prepared.bindings), prepared.bindings);
  RankFigures own;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    of_all_ranks(own, world);  // so that all begin together
    const double us = microseconds([&] { placed.run(inputs, prepared.bindings); });
    const double compute = std::accumulate(placed.seconds().begin(), placed.seconds().end(), 0.0) * 1e6;
    run.us = repeat == 0 ? us : std::min(run.us, us);
    own.compute_us = repeat == 0 ? compute : std::min(own.compute_us, compute);
  }
  own.sent_bytes = placed.sent_bytes();
  run.ranks = of_all_ranks(own, world);
  // The last rank to end says how long a run took.
  for (const RankFigures& each : of_all_ranks({.compute_us = run.us}, world)) {
    run.us = std::max(run.us, each.compute_us);
  }
  if (world.rank() != 0) return 0;
  const Executable whole = compile(model.model.graph);
  const RunOptions options{.bindings = prepared.bindings};
  const std::vector<Array> wanted = whole.run(inputs, options);
  run.whole_us = sample([&] { whole.run(inputs, options); }, kRepeats, 0).least();
  run.outputs = match_outputs(model.model.graph, outputs, wanted, prepared.bindings);
  arguments.has("--json") ? print_json(run, plan) : print_text(run, plan);
  return std::ranges::all_of(run.outputs, &OutputMatch::ok) ? 0 : 1;
}

}  // namespace tenon::cli
