#include "mesh/split/shard.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/fail.h"
#include "ir/data_axes.h"
#include "ir/unify_names.h"
#include "mesh/split/body_ways.h"
#include "mesh/split/estimate.h"
#include "mesh/split/local_node.h"
#include "mesh/split/pulls.h"
#include "mesh/split/tail.h"
#include "mesh/split/ways.h"
#include "ops/make.h"
#include "passes/inline_calls.h"

namespace tenon::mesh {
namespace {

std::string call_it(const Value& value) {
  if (!value.name().empty()) return fmt::format("`{}`", value.name());
  const std::string& place = value.node().place;
  return place.empty() ? fmt::format("a result of {}", op_name(value.node().op))
                       : fmt::format("{} at \"{}\"", op_name(value.node().op), place);
}

/// How often moving an input counts: a weight that a node moves is mostly moved for its gradient, too, and somebody
/// said how it is to lie.
constexpr double kMovingInputs = 2;

class Sharder {
 public:
  Sharder(const Graph& graph, const MeshShape& mesh, int rank, const ShardOptions& options)
      : options_(options), estimate_(graph, options), pulls_(mesh) {
    out_.mesh = mesh;
    out_.coordinates = mesh.coordinates(rank);
    out_.whole = graph;
  }

  ShardedGraph run(std::vector<Layout> input_layouts) {
    out_.input_layouts = std::move(input_layouts);
    for (size_t i = 0; i < out_.whole.outputs().size(); ++i) {
      if (const auto layout = wanted_output(i)) pulls_.add(out_.whole.outputs()[i].value, *layout);
    }
    pulls_.follow(out_.whole);
    tail_ = tail_of(out_.whole);
    const UnifyNames lenient;  // names that were allowed to meet when the graph was built may meet again
    for (size_t i = 0; i < out_.input_layouts.size(); ++i) {
      add_input(out_.whole.inputs()[i], out_.input_layouts[i]);
    }
    for (const Node* node : out_.whole.nodes()) {
      size_t& depth = depths_[node];
      for (const Value& operand : node->inputs) {
        depth = std::max(depth, depths_.at(&operand.node()) + 1);
      }
      if (node->as<Input>() == nullptr) {
        const Place place(node->place);
        add_node(*node);
      }
    }
    for (size_t i = 0; i < out_.whole.outputs().size(); ++i) {
      add_output(i);
    }
    put_late_ones_last();
    return std::move(out_);
  }

 private:
  /// Nothing but outputs waits for them: all else comes first, and sends meanwhile.
  void put_late_ones_last() {
    for (const Collective& each : out_.collectives) {
      if (!each.is_late) out_.tail_level = std::max(out_.tail_level, each.level + 1);
    }
    for (Collective& each : out_.collectives) {
      if (each.is_late) each.level += out_.tail_level;
    }
  }

  /// A tensor of the whole graph in one layout, as this rank has it.
  struct Version {
    Layout layout;
    Value local;
    size_t level = 0;  // of Collective, of those that are not late
    size_t late = 0;   // so many late ones are behind those
  };

  const MeshAxis& mesh_axis(size_t m) const { return out_.mesh.axes[m]; }

  Shape local_shape(const Shape& shape, const Layout& layout) const {
    return shape.with_axes(local_axes(shape.axes(), layout, out_.mesh, out_.coordinates));
  }

  void add_input(const Value& input, const Layout& layout) {
    Value local = tenon::input(std::string(input.name()), local_shape(input.shape(), layout));
    out_.inputs.push_back(local);
    versions_[input] = {{layout, std::move(local), 0}};
    out_.values.push_back({std::string(input.name()), "input", input.shape(), layout, {}});
  }

  void add_node(const Node& node) {
    std::vector<Layout> wanted(node.inputs.size(), whole_layout(out_.mesh));
    std::vector<Layout> results(node.shapes.size(), whole_layout(out_.mesh));
    std::string reason;
    for (size_t m = 0; m < out_.mesh.axes.size(); ++m) {
      const Way way = choose(node, m, wanted, results, reason);
      for (size_t i = 0; i < wanted.size(); ++i) {
        wanted[i][m] = way.operands[i];
      }
      for (size_t i = 0; i < results.size(); ++i) {
        results[i][m] = way.results[i];
      }
    }
    const double seconds = estimate_.seconds_to_compute(node) / shares(wanted, results);
    out_.seconds += seconds;
    out_.compute_seconds += seconds;
    std::vector<Value> operands;
    size_t level = 0, late = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Version now = bring(node.inputs[i], wanted[i], fmt::format("{} needs it", call_it(Value(&node, 0))));
      operands.push_back(std::move(now.local));
      level = std::max(level, now.level);
      late = std::max(late, now.late);
    }
    const std::vector<Value> made = make_local(node, std::move(operands), wanted, results, out_.mesh, out_.coordinates);
    for (size_t i = 0; i < made.size(); ++i) {
      versions_[Value(&node, static_cast<int>(i))] = {{results[i], made[i], level, late}};
    }
    out_.values.push_back({node.place, std::string(op_name(node.op)), node.shapes[0], results[0], std::move(reason)});
  }

  /// Over how many ranks the work of a node is shared out.
  double shares(const std::vector<Layout>& operands, const std::vector<Layout>& results) const {
    double ranks = 1;
    for (size_t m = 0; m < out_.mesh.axes.size(); ++m) {
      const auto is_parted = [&](const Layout& layout) { return !layout[m].is_whole(); };
      if (std::ranges::any_of(operands, is_parted) || std::ranges::any_of(results, is_parted)) {
        ranks *= mesh_axis(m).size;
      }
    }
    return ranks;
  }

  /// The layout that the tensor was made in.
  const Layout& native(const Value& value) const { return versions_.at(value).front().layout; }

  Way choose(const Node& node, size_t m, const std::vector<Layout>& wanted, const std::vector<Layout>& results,
             std::string& reason) const {
    Way best{std::vector<Placement>(node.inputs.size()), std::vector<Placement>(node.shapes.size())};
    std::vector<Placement> now;
    for (const Value& operand : node.inputs) {
      now.push_back(native(operand)[m]);
    }
    if (std::ranges::all_of(now, &Placement::is_whole)) return best;
    bool is_split = false;
    double least = seconds(node, m, now, best, 1);
    for (const Way& way : ways(node, now, mesh_axis(m).size)) {
      if (!is_free(way, m, wanted, results) || !bodies_run(node, way, m, wanted, results)) continue;
      const bool is_shared = std::ranges::any_of(way.operands, &Placement::is_split);
      const double time = seconds(node, m, now, way, is_shared ? mesh_axis(m).size : 1);
      // Sums of parts are made as late as possible: more terms may come.
      if (time < least || (!is_shared && time <= least)) {
        least = time;
        best = way;
        is_split = true;
      }
    }
    if (!is_split && std::ranges::any_of(now, &Placement::is_split)) {
      reason = fmt::format("{}{} does not run in parts along {} of the mesh, or costs more so",
                           reason.empty() ? "" : reason + "; ", op_name(node.op), mesh_axis(m).name);
    }
    return best;
  }

  /// Whether no other axis of the mesh has one of the tensor axes that the way splits.
  bool is_free(const Way& way, size_t m, const std::vector<Layout>& wanted, const std::vector<Layout>& results) const {
    const auto is_taken = [&](const std::vector<Placement>& placements, const std::vector<Layout>& layouts) {
      for (size_t i = 0; i < placements.size(); ++i) {
        if (placements[i].is_split() && is_split_elsewhere(layouts[i], placements[i].axis, m)) return true;
        // What several axes of the mesh have in parts must be made whole in the same manner.
        for (const Placement& other : layouts[i]) {
          if (placements[i].is_partial() && other.is_partial() && other.op != placements[i].op) return true;
        }
      }
      return false;
    };
    return !is_taken(way.operands, wanted) && !is_taken(way.results, results);
  }

  /// Whether bodies need no exchange with what axes of the mesh before this one split.
  bool bodies_run(const Node& node, const Way& way, size_t m, std::vector<Layout> wanted,
                  std::vector<Layout> results) const {
    if (!has_bodies(node) || m == 0) return true;
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i][m] = way.operands[i];
    }
    for (size_t i = 0; i < results.size(); ++i) {
      results[i][m] = way.results[i];
    }
    return !local_bodies(node, wanted, results, out_.mesh, out_.coordinates).empty();
  }

  double seconds(const Node& node, size_t m, const std::vector<Placement>& now, const Way& way, int share) const {
    const std::optional<Placement> end = pulls_.at(Value(&node, 0), m);
    // Elementwise work counts as if it were never shared out where its result becomes whole and what it reads has such
    // readers beside it: to move that is as good, and serves all of them.
    const auto has_readers = [&](const Value& operand) {
      return pulls_.whole_readers(operand) > 1 && !native(operand)[m].is_whole();
    };
    const bool is_small =
        node.as<Map>() != nullptr && end && end->is_whole() && std::ranges::any_of(node.inputs, has_readers);
    double time = estimate_.seconds_to_compute(node) / (is_small ? 1 : share);
    bool keeps_direction = false;  // some operand lies as the way needs it
    for (size_t i = 0; i < now.size(); ++i) {
      const Value& operand = node.inputs[i];
      const auto is_there = [&](const Version& version) { return version.layout[m] == way.operands[i]; };
      const bool is_near = way.operands[i].cut.reach && now[i].is_split() && now[i].axis == way.operands[i].axis;
      keeps_direction = keeps_direction || is_near || (now[i].is_split() && now[i] == way.operands[i]);
      if (std::ranges::any_of(versions_.at(operand), is_there)) continue;
      // Scattering what is to be summed costs half of having it everywhere; it will mostly be gathered later, unless
      // something beside it lies in the same parts, or what it is for.
      const bool has_company =
          std::ranges::find(now, way.operands[i]) != now.end() || pulls_.at(operand, m) == way.operands[i];
      const Placement& to = now[i].is_partial() && !has_company ? Placement{} : way.operands[i];
      const bool is_input = operand.node().as<Input>() != nullptr;
      time += (is_input ? kMovingInputs : 1) * estimate_.seconds_to_move(operand.shape(), now[i], to, mesh_axis(m));
    }
    for (size_t i = 0; i < node.shapes.size(); ++i) {
      // What comes to lie along another axis than all of its operands did will mostly be brought back.
      const std::optional<Placement> wanted = pulls_.at(Value(&node, static_cast<int>(i)), m);
      const bool is_brought_back = wanted ? *wanted != way.results[i] : !keeps_direction;
      if (way.results[i].is_partial() || (way.results[i].is_split() && is_brought_back)) {
        time += estimate_.seconds_to_bring_back(node, i, way.results[i], wanted.value_or(Placement{}), mesh_axis(m));
      }
    }
    return time;
  }

  double seconds_between(const Shape& shape, const Layout& from, const Layout& to) const {
    double time = 0;
    for (size_t m = 0; m < from.size(); ++m) {
      time += estimate_.seconds_to_move(shape, from[m], to[m], mesh_axis(m));
    }
    return time;
  }

  /// The tensor in the layout, from whatever version is nearest.
  Version bring(const Value& value, const Layout& wanted, const std::string& reason) {
    double least = std::numeric_limits<double>::infinity();
    Version now;
    const auto has_reach = [](const Placement& each) { return each.cut.reach.has_value(); };
    for (const Version& version : versions_.at(value)) {
      // What neighbours have, too, is for the one who asked for it.
      if (version.layout != wanted && std::ranges::any_of(version.layout, has_reach)) continue;
      const double time = seconds_between(value.shape(), version.layout, wanted);
      if (time < least) {
        least = time;
        now = version;
      }
    }
    for (size_t m = 0; m < wanted.size(); ++m) {
      if (now.layout[m] != wanted[m] && !now.layout[m].is_whole()) exchange(value, now, m, wanted[m], reason);
    }
    for (size_t m = 0; m < wanted.size(); ++m) {
      if (now.layout[m] == wanted[m]) continue;
      wanted[m].is_partial() ? keep_on_first(value, now, m, wanted[m]) : cut(value, now, m, wanted[m]);
    }
    return now;
  }

  void remember(const Value& value, const Version& version) { versions_.at(value).push_back(version); }

  void exchange(const Value& value, Version& now, size_t m, const Placement& wanted, const std::string& reason) {
    const Placement from = now.layout[m];
    // Terms of a sum are scattered to parts that have nothing in common.
    const bool is_direct = wanted.is_split() && !is_split_elsewhere(now.layout, wanted.axis, m) &&
                           !(wanted.cut.reach && (from.is_partial() || from.axis != wanted.axis));
    Collective step;
    step.mesh_axis = m;
    step.from = from;
    step.to = is_direct ? wanted : Placement{};
    step.kind = kind_of(from, step.to);
    step.source = now.local;
    step.is_late = tail_.contains(&value.node());
    step.level = step.is_late ? now.late++ : now.level++;
    step.depth = depths_.at(&value.node());
    step.whole = value.shape();
    step.of = call_it(value);
    step.reason = reason;
    step.bytes = bytes_of(value, now.layout, step);
    now.layout[m] = step.to;
    now.local = tenon::input(fmt::format("{}.{}", name(step.kind), out_.collectives.size()),
                             local_shape(value.shape(), now.layout));
    step.result = now.local;
    const Placement step_to = step.to;
    out_.collectives.push_back(std::move(step));
    out_.seconds += estimate_.seconds_to_move(value.shape(), from, step_to, mesh_axis(m));
    remember(value, now);
  }

  static CollectiveKind kind_of(const Placement& from, const Placement& to) {
    if (from.is_partial()) return to.is_split() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    if (!to.is_split()) return CollectiveKind::all_gather;
    return to.axis == from.axis ? CollectiveKind::halo_exchange : CollectiveKind::all_to_all;
  }

  /// Of what the ranks along the axis hold together, when it is whole; of a halo what a rank in their middle gets.
  Extent bytes_of(const Value& value, const Layout& now, const Collective& step) const {
    const auto m = step.mesh_axis;
    Layout together = now;
    together[m] = Placement{};
    std::vector<Axis> axes = local_shape(value.shape(), together).axes();
    const int ranks = mesh_axis(m).size;
    if (step.kind == CollectiveKind::halo_exchange) {
      axes[static_cast<size_t>(step.from.axis)] = Axis(missing(step.from.cut, step.to.cut, ranks / 2, ranks));
    }
    return value.shape().with_axes(std::move(axes)).element_count() * static_cast<int64_t>(byte_size(value.dtype()));
  }

  /// A whole tensor as a term of a sum: the first rank has it, the others have zeros.
  void keep_on_first(const Value& value, Version& now, size_t m, const Placement& wanted) {
    now.layout[m] = wanted;
    if (out_.coordinates[m] != 0) {
      const Value zero = make(Constant{Array::scalar(value.dtype(), 0)}, {});
      now.local = make(Broadcast{.to = now.local.shape().axes(), .axes = {}}, {zero});
    }
    remember(value, now);
  }

  void cut(const Value& value, Version& now, size_t m, const Placement& wanted) {
    const int ranks = mesh_axis(m).size;
    Slice slice;
    slice.step.assign(static_cast<size_t>(value.rank()), 1);
    for (const Axis& axis : now.local.shape().axes()) {
      slice.start.emplace_back(0);
      slice.size.push_back(axis.extent());
    }
    const auto axis = static_cast<size_t>(wanted.axis);
    slice.start[axis] = wanted.cut.begin(out_.coordinates[m], ranks);
    slice.size[axis] = wanted.cut.size(out_.coordinates[m], ranks);
    now.layout[m] = wanted;
    now.local = make(std::move(slice), {now.local});
    remember(value, now);
  }

  bool keeps_sum(const Output& output) const {
    return options_.kept_sums == KeptSums::all || (options_.kept_sums == KeptSums::of_state && output.aliases >= 0);
  }

  /// The layout that an output must have; nothing where any will do.
  std::optional<Layout> wanted_output(size_t index) const {
    const Output& output = out_.whole.outputs()[index];
    if (!options_.outputs.empty()) return options_.outputs[index];
    if (options_.state_stays && output.aliases >= 0) {
      return out_.input_layouts[static_cast<size_t>(output.aliases)];
    }
    return options_.whole_outputs ? std::optional(whole_layout(out_.mesh)) : std::nullopt;
  }

  void add_output(size_t index) {
    const Output& output = out_.whole.outputs()[index];
    Layout wanted = wanted_output(index).value_or(native(output.value));
    for (Placement& each : wanted) {
      if (each.is_partial() && !keeps_sum(output)) each = Placement{};
    }
    const Value local = bring(output.value, wanted, fmt::format("output `{}` is given so", output.name)).local;
    out_.outputs.push_back({.name = output.name, .value = local});
    out_.output_layouts.push_back(std::move(wanted));
  }

  const ShardOptions& options_;
  Estimate estimate_;
  ShardedGraph out_;
  std::unordered_map<Value, std::vector<Version>> versions_;
  Pulls pulls_;
  std::unordered_map<const Node*, size_t> depths_;
  std::unordered_set<const Node*> tail_;
};

}  // namespace

ShardedGraph shard(const Graph& graph, const MeshShape& mesh, std::vector<Layout> inputs, int rank,
                   const ShardOptions& options) {
  const AxisNames undecided = data_axes(graph);
  if (!undecided.empty()) {
    fail("graph `{}` cannot be shared out over a mesh: data decide the size of its axis `{}`", graph.name(),
         *undecided.begin());
  }
  return Sharder(passes::inline_calls(graph), mesh, rank, options).run(std::move(inputs));
}

ShardedGraph shard(const Graph& graph, const MeshShape& mesh, const Sharding& sharding, int rank,
                   const ShardOptions& options) {
  return shard(graph, mesh, input_layouts(graph, mesh, sharding), rank, options);
}

}  // namespace tenon::mesh
