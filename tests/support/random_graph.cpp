#include "support/random_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/convert.h"
#include "ir/node.h"
#include "shape/constraint_set.h"
#include "support/graph_maker.h"
#include "tenon/error.h"

namespace tenon {
namespace {

constexpr int64_t kSizes[] = {0, 1, 1, 2, 3, 7, 8, 9, 16, 17, 33, 65};
constexpr int64_t kMostElements = 6000;  // of any value
constexpr int64_t kMostProducts = 60000;

Tolerance tolerance_of(const Traced& x) {
  if (!is_float(x.value.dtype()) || x.exact) {
    return {};
  }
  return {.absolute = 2 * x.error, .relative = 8 * rounding_step(x.value.dtype())};
}

std::set<std::string> names_of(const Graph& graph) {
  std::set<std::string> names;
  for (const Node* node : graph.nodes()) {
    for (const Axis& axis : node->shapes[0].axes()) {
      for (std::string& each : axis.extent().names()) {
        names.insert(std::move(each));
      }
    }
  }
  return names;
}

/// No value is large and no product long, so that the slowest evaluator takes a moment.
bool is_small(const Graph& graph, const Bindings& bindings) {
  return std::ranges::all_of(graph.nodes(), [&](const Node* node) {
    const auto count = [&](const Shape& shape) { return evaluate(shape.element_count(), bindings); };
    int64_t work = count(node->shapes[0]);
    if (work > kMostElements) {
      return false;
    }
    if (const auto* contract = node->as<Contract>()) {
      for (const int axis : contract->lhs_contract) {
        work *= evaluate(node->inputs[0].extent(axis), bindings);
      }
    } else if (node->as<Conv>()) {
      const int64_t channels = std::max<int64_t>(evaluate(node->inputs[1].extent(0), bindings), 1);
      work *= count(node->inputs[1].shape()) / channels;
    }
    return work <= kMostProducts;
  });
}

}  // namespace

RandomGraph random_graph(uint64_t seed) {
  GraphMaker maker(seed);
  maker.add_inputs();
  const int64_t steps = maker.pick(3, 18);
  for (int64_t i = 0; i < steps; ++i) {
    maker.add_step();
  }
  // The last values, and a few from between.
  const auto& pool = maker.pool();
  std::vector<Traced> chosen{pool.back()};
  for (int64_t left = maker.pick(0, 3); left > 0; --left) {
    const Traced& x = pool[static_cast<size_t>(maker.pick(0, std::ssize(pool) - 1))];
    if (std::ranges::find(chosen, x.value, &Traced::value) == chosen.end()) {
      chosen.push_back(x);
    }
  }
  RandomGraph result;
  std::vector<Output> outputs;
  for (const Traced& x : chosen) {
    outputs.push_back({.name = fmt::format("y{}", outputs.size()), .value = x.value});
    result.tolerances.push_back(tolerance_of(x));
  }
  try {
    result.graph = Graph(fmt::format("random_{}", seed), maker.inputs(), std::move(outputs));
  } catch (const Error&) {
    return random_graph(seed + 0x9e3779b97f4a7c15);  // no sizes fit all of its operations
  }
  result.special = maker.pick(0, 5) == 0;
  return result;
}

std::vector<Bindings> random_bindings(const Graph& graph, uint64_t seed, size_t count) {
  const std::set<std::string> names = names_of(graph);
  std::mt19937_64 rng(seed);
  std::vector<Bindings> found;
  bool has_broken = false;
  for (int attempt = 0; attempt < 100 && found.size() < count; ++attempt) {
    Bindings bindings;
    for (const std::string& each : names) {
      // Smaller ones later, so that large graphs get something too.
      const size_t most = std::size(kSizes) - std::min(std::size(kSizes) - 2, static_cast<size_t>(attempt) / 8);
      bindings.set(each, kSizes[rng() % most]);
    }
    bool fits = true;
    try {
      for (const Value& in : graph.inputs()) {
        resolve(in.shape(), bindings);
      }
    } catch (const Error&) {
      continue;  // no arrays have these sizes
    }
    try {
      graph.constraints().check(bindings);
      fits = is_small(graph, bindings);
    } catch (const Error&) {
      fits = !has_broken && attempt % 4 == 0;
      has_broken = has_broken || fits;
    }
    if (fits && std::ranges::find(found, bindings) == found.end()) {
      found.push_back(bindings);
    }
    if (names.empty()) {
      break;
    }
  }
  return found;
}

std::vector<Array> random_graph_inputs(const RandomGraph& random, const Bindings& bindings, uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSpecial[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), 0, -0.0};
  std::mt19937_64 rng(seed);
  std::vector<Array> inputs;
  for (const Value& in : random.graph.inputs()) {
    Array array(in.dtype(), resolve(in.shape(), bindings).dims());
    visit_dtype(in.dtype(), [&]<class T>() {
      std::uniform_real_distribution<double> uniform(std::is_unsigned_v<T> ? 0
                                                     : is_float_type<T>    ? -2
                                                                           : -3,
                                                     is_float_type<T>          ? 2
                                                     : std::is_same_v<T, bool> ? 1.99
                                                                               : 9);
      for (T& value : array.mutable_values<T>()) {
        double x = uniform(rng);
        if (is_float_type<T> && random.special && rng() % 64 == 0) {
          x = kSpecial[rng() % std::size(kSpecial)];
        }
        value = convert<T>(std::is_same_v<T, bool> ? std::floor(x) : x);
      }
    });
    inputs.push_back(std::move(array));
  }
  return inputs;
}

}  // namespace tenon
