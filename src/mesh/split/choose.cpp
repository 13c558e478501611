#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/fail.h"
#include "mesh/split/rank_estimate.h"
#include "mesh/split/shard.h"

namespace tenon::mesh {
namespace {

/// Of two shardings that take as long, the one that keeps less on a rank: a gigabyte counts as 0.1 ms.
constexpr double kSecondsOfAByte = 1e-13;
/// By how much less a sharding must take to be another one.
constexpr double kGain = 0.999;

/// What a rank takes with it; more than anything where it cannot be.
double cost(const Graph& graph, const MeshShape& mesh, const Sharding& sharding, const ShardOptions& options) {
  try {
    const ShardedGraph sharded = shard(graph, mesh, sharding, 0, options);
    return sharded.seconds + kSecondsOfAByte * input_bytes(sharded, options.typical);
  } catch (const Error&) {
    return std::numeric_limits<double>::infinity();  // such as a name that one input has twice
  }
}

/// `layers.3.query.weight` to `layers.*.query.weight`: what is built alike lies alike.
std::string pattern_of(std::string_view name) {
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(name[i])) != 0;
    const bool begins = i == 0 || name[i - 1] == '.' || (!pattern.empty() && pattern.back() == '*');
    if (is_digit && begins) {
      if (pattern.empty() || pattern.back() != '*') pattern += '*';
    } else {
      pattern += name[i];
    }
  }
  return pattern;
}

/// Inputs that are named alike, each with how many axes they have.
std::map<std::string, int> patterns(const Graph& graph) {
  std::map<std::string, int> result;
  for (const Value& input : graph.inputs()) {
    if (input.rank() > 0 && input.shape().is_concrete()) result[pattern_of(input.name())] = input.rank();
  }
  return result;
}

}  // namespace

Sharding choose_sharding(const Graph& graph, const MeshShape& mesh, const ShardOptions& options) {
  std::set<std::string> names;
  for (const Value& input : graph.inputs()) {
    for (const Axis& axis : input.shape().axes()) {
      if (!axis.name().empty()) names.insert(axis.name());
    }
  }
  Sharding best;
  double least = cost(graph, mesh, best, options);
  for (const MeshAxis& axis : mesh.axes) {
    const Sharding before = best;
    for (const std::string& name : names) {
      Sharding with = before;
      if (!with.along.emplace(name, axis.name).second) continue;
      if (const double seconds = cost(graph, mesh, with, options); seconds < least * kGain) {
        least = seconds;
        best = std::move(with);
      }
    }
  }
  return best;
}

namespace {

struct Found {
  Sharding sharding;
  double cost = 0;
};

/// From there, one axis of alike inputs at a time, as long as that helps.
Found climb(const Graph& graph, const MeshShape& mesh, Sharding from, const ShardOptions& options) {
  const std::map<std::string, int> all = patterns(graph);
  Found best{std::move(from), 0};
  best.cost = cost(graph, mesh, best.sharding, options);
  for (bool is_better = true; std::exchange(is_better, false);) {
    for (const auto& [pattern, rank] : all) {
      // The best of the axes of the tensor and the mesh. Less memory alone is enough, where it takes no longer.
      const Found before = best;
      for (const MeshAxis& along : mesh.axes) {
        for (int axis = 0; axis < rank; ++axis) {
          Sharding with = before.sharding;
          if (!with.along.emplace(fmt::format("{}.{}", pattern, axis), along.name).second) continue;
          if (const double seconds = cost(graph, mesh, with, options); seconds < best.cost) {
            best = {std::move(with), seconds};
          }
        }
      }
      is_better = is_better || best.cost < before.cost * kGain;
    }
  }
  return best;
}

}  // namespace

Sharding choose_weights(const Graph& graph, const MeshShape& mesh, Sharding from, const ShardOptions& options) {
  // A name of an axis is taken in one step and given back in none: the search also begins without any.
  const bool has_names = !from.along.empty();
  Found best = climb(graph, mesh, std::move(from), options);
  if (!has_names) return best.sharding;
  Found other = climb(graph, mesh, {}, options);
  return other.cost < best.cost * kGain ? other.sharding : best.sharding;
}

}  // namespace tenon::mesh
