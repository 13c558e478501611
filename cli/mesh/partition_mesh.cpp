#include "cli/mesh/partition_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/fail.h"
#include "cli/mesh/mesh_page.h"
#include "cli/mesh/mesh_ranks.h"
#include "cli/models/files.h"
#include "cli/models/load_trainable.h"
#include "cli/models/model_ports.h"
#include "cli/print/json.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/words/inputs.h"
#include "mesh/run/measure_costs.h"
#include "mesh/split/rank_estimate.h"

namespace tenon::cli {
namespace {

struct MeshPlan {
  mesh::MeshShape shape;
  mesh::Sharding sharding;
  mesh::RankEstimate estimate;

  double seconds() const { return estimate.compute_seconds + estimate.send_seconds; }
};

/// One axis along which examples may lie, and one along which weights may.
std::vector<mesh::MeshShape> meshes_of(int64_t ranks) {
  std::vector<mesh::MeshShape> meshes;
  for (int64_t data = 1; data <= ranks; ++data) {
    if (ranks % data == 0)
      meshes.push_back(mesh::MeshShape::parse(fmt::format("data={},model={}", data, ranks / data)));
  }
  return meshes;
}

std::string time_of(double seconds) { return time_text(seconds * 1e6); }
std::string bytes_of(double bytes) { return bytes_text(static_cast<int64_t>(bytes)); }

void print_plan(const MeshPlan& plan) {
  const mesh::RankEstimate& rank = plan.estimate;
  fmt::print("{}: {} a run, as estimated: computes {}, sends {}\n", bold(plan.shape.to_string()),
             time_of(plan.seconds()), time_of(rank.compute_seconds), time_of(rank.send_seconds));
  fmt::print("  a rank keeps {} of inputs and weights, and {} between nodes at most, as if nothing were fused\n",
             bytes_of(rank.input_bytes), bytes_of(rank.most_bytes));
  for (const auto& [axis, traffic] : rank.along) {
    fmt::print("  over {:<8} {} collective{}, a rank sends {}\n", axis, traffic.collectives,
               traffic.collectives == 1 ? "" : "s", bytes_of(traffic.bytes));
  }
  fmt::print("  --shard '{}'\n", plan.sharding.to_string());
}

void print_table(const std::vector<MeshPlan>& plans) {
  fmt::print("{:<22} {:>10} {:>10} {:>10} {:>11} {:>11}\n", "mesh", "time", "computes", "sends", "keeps", "between");
  for (const MeshPlan& plan : plans) {
    fmt::print("{:<22} {:>10} {:>10} {:>10} {:>11} {:>11}\n", plan.shape.to_string(), time_of(plan.seconds()),
               time_of(plan.estimate.compute_seconds), time_of(plan.estimate.send_seconds),
               bytes_of(plan.estimate.input_bytes), bytes_of(plan.estimate.most_bytes));
  }
}

Json json_of(const MeshPlan& plan) {
  Json along = Json::object();
  for (const auto& [axis, traffic] : plan.estimate.along) {
    along.set(axis, Json::object().set("collectives", traffic.collectives).set("sent_bytes", traffic.bytes));
  }
  return Json::object()
      .set("mesh", plan.shape.to_string())
      .set("sharding", plan.sharding.to_string())
      .set("us", plan.seconds() * 1e6)
      .set("compute_us", plan.estimate.compute_seconds * 1e6)
      .set("send_us", plan.estimate.send_seconds * 1e6)
      .set("input_bytes", plan.estimate.input_bytes)
      .set("between_bytes", plan.estimate.most_bytes)
      .set("along", along);
}

/// The estimates of one rank for all.
int estimate(const Arguments& arguments, const mesh::MeshCosts& costs) {
  const std::string& word = arguments.rest()[0];
  const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
  const GraphModel model =
      arguments.has("--train") ? load_training_step(word, {}, "adam") : load_mesh_model(word, {.sizes = bound});
  const Bindings bindings = complete_bindings(ports_of(model), bound);
  const mesh::ShardOptions options{.costs = costs, .typical = bindings, .state_stays = arguments.has("--train")};
  const auto ranks = arguments.find_number(kMeshRanks.name, 1);
  std::vector<MeshPlan> plans;
  for (const mesh::MeshShape& shape :
       ranks ? meshes_of(*ranks) : std::vector{mesh::MeshShape::parse(*arguments.find(kMesh.name))}) {
    MeshPlan plan;
    plan.shape = shape;
    if (const auto words = arguments.find(kShard.name)) {
      plan.sharding = mesh::Sharding::parse(*words);
    } else {
      plan.sharding =
          mesh::choose_weights(model.graph, shape, mesh::choose_sharding(model.graph, shape, options), options);
    }
    plan.estimate = estimate_rank(mesh::shard(model.graph, shape, plan.sharding, 0, options), options);
    plans.push_back(std::move(plan));
  }
  std::ranges::stable_sort(plans, {}, &MeshPlan::seconds);
  if (const auto file = arguments.find("--html")) {
    std::vector<MeshRow> rows;
    for (const MeshPlan& plan : plans) {
      if (plans.size() > 1) rows.push_back({.mesh = plan.shape.to_string(), .estimate = plan.estimate});
    }
    const MeshPlan& best = plans.front();
    write_text(*file, mesh_page({.graph = mesh::shard(model.graph, best.shape, best.sharding, 0, options),
                                 .sharding = best.sharding,
                                 .options = options,
                                 .others = std::move(rows)}));
  }
  if (arguments.has("--json")) {
    Json list = Json::array();
    for (const MeshPlan& plan : plans) {
      list.push(json_of(plan));
    }
    Json::object().set("model", model.graph.name()).set("bindings", bindings.to_string()).set("plans", list).print();
    return 0;
  }
  const std::string sizes = bindings.to_string();
  fmt::print("{}{}{}{}\n", model.graph.name(), arguments.has("--train") ? ", one step of Adam" : "",
             sizes.empty() ? "" : " at ", sizes);
  if (plans.size() > 1) print_table(plans);
  print_plan(plans.front());
  return 0;
}

}  // namespace

bool is_about_mesh(const Arguments& arguments) {
  if (arguments.has(kMesh.name) || arguments.has(kMeshRanks.name)) return true;
  for (const Option& option : {kShard, kNetwork, kMeasure, kMeshPatience}) {
    if (arguments.has(option.name)) fail("`{}` is for `--mesh` and `--ranks`", option.name);
  }
  return false;
}

int partition_mesh(const Arguments& arguments) {
  for (const std::string_view option : {"--profile", "--fuse", "--by", "--parts", "--imbalance", "--micro-batches",
                                        "--most-flops", "--least-parallelism", "--memory", "--plan", "--write", "--why",
                                        "--diff", "--run", "--export", "--compare", "--svg", "--dot", "--plot"}) {
    if (arguments.has(option)) fail("`{}` does not go with `--mesh` or `--ranks`", option);
  }
  const bool has_ranks = arguments.has(kMeshRanks.name);
  if (has_ranks && (arguments.has(kMesh.name) || arguments.has(kShard.name) || arguments.has(kMeasure.name))) {
    fail("`--ranks` goes through meshes and chooses shardings: leave `--mesh`, `--shard` and `--measure` out");
  }
  const auto file = arguments.find(kMeasure.name);
  if (!file) return estimate(arguments, costs_of(arguments));
  return on_ranks(arguments, [&](mesh::Communicator& world) {
    const mesh::MeshShape shape = mesh::MeshShape::parse(*arguments.find(kMesh.name));
    const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / world.ranks_here());
    const mesh::MeshCosts costs = measure_costs(shape, world, threads);
    if (world.rank() != 0) return 0;
    write_text(*file, to_json(costs));
    return estimate(arguments, costs);
  });
}

}  // namespace tenon::cli
