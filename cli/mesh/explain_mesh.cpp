#include "cli/mesh/explain_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/mesh/mesh_page.h"
#include "cli/mesh/mesh_ranks.h"
#include "cli/models/files.h"
#include "cli/models/load_trainable.h"
#include "cli/models/model_ports.h"
#include "cli/print/json.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/words/inputs.h"

namespace tenon::cli {
namespace {

/// One collective in numbers.
struct Sent {
  const mesh::Collective& step;
  int ranks = 1;
  double whole = 0;  // bytes of the tensor
  double bytes = 0;  // that a rank sends of it
};

std::vector<Sent> sent_bytes(const mesh::ShardedGraph& graph, const Bindings& bindings) {
  std::vector<Sent> result;
  for (const mesh::Collective& step : graph.collectives) {
    const int ranks = graph.mesh.axes[step.mesh_axis].size;
    const auto whole = static_cast<double>(evaluate(step.bytes, bindings));
    result.push_back({step, ranks, whole, whole * mesh::Collective::sent_share(step.kind, ranks)});
  }
  return result;
}

void print_text(const mesh::ShardedGraph& graph, const Bindings& bindings, const mesh::Sharding& sharding,
                const std::vector<Sent>& sent) {
  double total = 0;
  for (const Sent& each : sent) {
    total += each.bytes;
  }
  const std::string sizes = bindings.to_string();
  fmt::print("{}{}{} on the mesh {}: {} collective{}, a rank sends {} in a run\n", bold(graph.whole.name()),
             sizes.empty() ? "" : " at ", sizes, graph.mesh.to_string(), sent.size(), sent.size() == 1 ? "" : "s",
             bytes_text(static_cast<int64_t>(total)));
  fmt::print("  along: {}\n", sharding.along.empty() ? "nothing; every rank computes all" : sharding.to_string());
  fmt::print("  estimated: {} a run, {} of it to compute\n", time_text(graph.seconds * 1e6),
             time_text(graph.compute_seconds * 1e6));
  fmt::print("  tensors\n");
  for (const mesh::ShardedValue& value : graph.values) {
    fmt::print("    {:<24} {:<36} {}\n", label_of(value), value.shape.to_string(),
               mesh::describe(value.layout, value.shape, graph.mesh));
  }
  if (!sent.empty()) fmt::print("  collectives\n");
  for (size_t i = 0; i < sent.size(); ++i) {
    const mesh::Collective& step = sent[i].step;
    fmt::print("    {:>3} {:<14} over {:<8} {:>11}, sends {:>11}   {}: {}\n", i + 1, name(step.kind),
               graph.mesh.axes[step.mesh_axis].name, bytes_text(static_cast<int64_t>(sent[i].whole)),
               bytes_text(static_cast<int64_t>(sent[i].bytes)), step.of, step.reason);
  }
  std::map<std::string, int> reasons;
  for (const mesh::ShardedValue& value : graph.values) {
    if (!value.reason.empty()) ++reasons[value.reason];
  }
  if (!reasons.empty()) fmt::print("  whole although an operand is in parts\n");
  for (const auto& [reason, count] : reasons) {
    fmt::print("    {:>3} x {}\n", count, reason);
  }
}

void print_json(const mesh::ShardedGraph& graph, const Bindings& bindings, const mesh::Sharding& sharding,
                const std::vector<Sent>& sent) {
  Json tensors = Json::array();
  for (const mesh::ShardedValue& value : graph.values) {
    tensors.push(Json::object()
                     .set("name", value.name)
                     .set("operation", value.operation)
                     .set("shape", value.shape.to_string())
                     .set("layout", mesh::describe(value.layout, value.shape, graph.mesh))
                     .set("reason", value.reason));
  }
  Json collectives = Json::array();
  for (const Sent& each : sent) {
    collectives.push(Json::object()
                         .set("kind", name(each.step.kind))
                         .set("over", graph.mesh.axes[each.step.mesh_axis].name)
                         .set("shape", each.step.whole.to_string())
                         .set("bytes", each.whole)
                         .set("sent_bytes", each.bytes)
                         .set("of", each.step.of)
                         .set("reason", each.step.reason));
  }
  Json::object()
      .set("model", graph.whole.name())
      .set("mesh", graph.mesh.to_string())
      .set("sharding", sharding.to_string())
      .set("bindings", bindings.to_string())
      .set("estimated_us", graph.seconds * 1e6)
      .set("compute_us", graph.compute_seconds * 1e6)
      .set("tensors", tensors)
      .set("collectives", collectives)
      .print();
}

}  // namespace

int explain_mesh(const Arguments& arguments) {
  const std::string& word = arguments.rest()[0];
  const Bindings bound = Bindings::parse(arguments.find("--bind").value_or(""));
  const GraphModel model = arguments.has("--train")
                               ? load_training_step(word, {.loss = arguments.find("--loss").value_or("")},
                                                    arguments.find("--optimizer").value_or("adam"))
                               : load_mesh_model(word, {.sizes = bound});
  const mesh::MeshShape mesh = mesh::MeshShape::parse(*arguments.find(kMesh.name));
  const Bindings bindings = complete_bindings(ports_of(model), bound);
  const mesh::Sharding sharding = sharding_of(arguments, mesh, model.graph, bindings);
  const mesh::ShardOptions options{
      .costs = costs_of(arguments), .typical = bindings, .state_stays = arguments.has("--train")};
  const mesh::ShardedGraph graph = mesh::shard(model.graph, mesh, sharding, 0, options);
  const std::vector<Sent> sent = sent_bytes(graph, bindings);
  if (const auto file = arguments.find("--html")) {
    write_text(*file, mesh_page({.graph = graph, .sharding = sharding, .options = options}));
  }
  (arguments.has("--json") ? print_json : print_text)(graph, bindings, sharding, sent);
  return 0;
}

}  // namespace tenon::cli
