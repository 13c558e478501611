#include "mesh/pipeline/pieces_of_batch.h"

#include <algorithm>
#include <vector>

#include "base/fail.h"
#include "ir/data_axes.h"
#include "ir/walk.h"
#include "mesh/run/pieces.h"
#include "mesh/split/shard.h"
#include "shape/constraint_set.h"

namespace tenon::mesh {
namespace {

/// Random numbers count elements of the whole: a piece would draw the first of them, as all others.
void require_no_random(const Graph& graph, const std::string& name) {
  for (const Graph& each : reachable_graphs(graph)) {
    for (const Node* node : each.nodes()) {
      if (node->as<Random>() == nullptr || !needed_axes(*node).contains(name)) continue;
      fail("graph `{}` cannot be cut into pieces along `{}`: it draws random numbers along it{}{}{}", graph.name(),
           name, node->place.empty() ? "" : " at \"", node->place, node->place.empty() ? "" : "\"");
    }
  }
}

}  // namespace

std::string piece_axis(const Graph& graph, std::string name) {
  for (const Value& input : graph.inputs()) {
    for (int i = 0; i < input.rank() && name.empty(); ++i) {
      name = input.extent(i).as_name().value_or("");
    }
  }
  if (name.empty()) fail("graph `{}` has no input with a named axis to be cut along", graph.name());
  require_no_random(graph, name);
  // Elements that could lie on two ranks without an exchange do not depend on each other.
  ShardOptions free{.whole_outputs = false};
  free.costs.link = {.latency = 0, .bytes_per_second = 1e15};
  Sharding along;
  along.along.emplace(name, "pieces");
  const ShardedGraph sharded = shard(graph, MeshShape::parse("pieces=2"), along, 0, free);
  if (!sharded.collectives.empty()) {
    const Collective& first = sharded.collectives.front();
    fail("graph `{}` cannot be cut into pieces along `{}`: {}, and {} is needed whole", graph.name(), name,
         first.reason, first.of);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Output& output = graph.outputs()[i];
    const auto axis = axis_named(output.value.shape(), name);
    if (!axis || sharded.output_layouts[i][0].axis != *axis) {
      fail("graph `{}` cannot be cut into pieces along `{}`: its output `{}` is {}", graph.name(), name, output.name,
           output.value.shape().to_string());
    }
  }
  return name;
}

PieceRange piece_range(int64_t piece, int64_t pieces, int64_t size) {
  const auto begin = [&](int64_t i) { return i * (size / pieces) + std::min(i, size % pieces); };
  return {.begin = begin(piece), .size = begin(piece + 1) - begin(piece)};
}

std::optional<int> axis_named(const Shape& shape, const std::string& name) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.extent(i) == Extent::name(name)) return i;
  }
  return std::nullopt;
}

Array piece_of(const Array& whole, const Shape& shape, const std::string& axis, const PieceRange& piece) {
  const auto along = axis.empty() ? std::nullopt : axis_named(shape, axis);
  return along ? slice_along(whole, *along, piece.begin, piece.size) : whole;
}

Bindings bindings_of_piece(const Graph& graph, std::span<const Array> inputs, const std::string& axis,
                           const PieceRange& piece, const Bindings& known) {
  std::vector<ConcreteInput> concrete;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& input = graph.inputs()[i];
    concrete.push_back({.name = std::string(input.name()),
                        .pattern = input.shape(),
                        .dtype = inputs[i].dtype(),
                        .dims = inputs[i].dims()});
    const auto along = axis.empty() ? std::nullopt : axis_named(input.shape(), axis);
    if (along) concrete.back().dims[static_cast<size_t>(*along)] = piece.size;
  }
  Bindings bindings = extract(concrete);
  for (const auto& [name, size] : known) {
    if (!bindings.find(name)) bindings.set(name, size);
  }
  graph.constraints().check(bindings);
  return graph.constraints().complete(bindings);
}

MeshShape without_axis(const MeshShape& mesh, size_t axis) {
  MeshShape inner = mesh;
  inner.axes.erase(inner.axes.begin() + static_cast<std::ptrdiff_t>(axis));
  return inner;
}

}  // namespace tenon::mesh
