#include "support/equivalence.h"

#include <set>

#include "ir/node.h"
#include "shape/constraint_set.h"
#include "support/arrays.h"
#include "tenon/error.h"
#include "tenon/interpreter.h"

namespace tenon {

std::vector<Bindings> sample_bindings(const Graph& graph, size_t count) {
  std::set<std::string> names;
  for (const Value& in : graph.inputs()) {
    for (const Axis& axis : in.shape().axes()) {
      for (std::string& each : axis.extent().names()) {
        names.insert(std::move(each));
      }
    }
  }
  static constexpr int64_t kCandidates[] = {2, 3, 1, 8, 0, 4, 6, 5, 7, 9, 12, 16};
  std::mt19937_64 rng(names.size());
  std::vector<Bindings> found;
  for (size_t attempt = 0; attempt < 400 && found.size() < count; ++attempt) {
    Bindings bindings;
    for (const std::string& each : names) {
      const size_t pick = attempt < std::size(kCandidates) ? attempt : rng();
      bindings.set(each, kCandidates[pick % std::size(kCandidates)]);
    }
    try {
      graph.constraints().check(bindings);
      for (const Value& in : graph.inputs()) {
        resolve(in.shape(), bindings);
      }
      found.push_back(graph.constraints().complete(bindings));
    } catch (const Error&) {
      continue;  // this binding is not legal for the graph
    }
    if (names.empty()) {
      break;
    }
  }
  return found;
}

std::vector<Array> random_inputs(const Graph& graph, const Bindings& bindings, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<Array> inputs;
  for (const Value& in : graph.inputs()) {
    const bool whole = is_integer(in.dtype());
    inputs.push_back(
        random_array(in.dtype(), resolve(in.shape(), bindings).dims(), rng, whole ? 0 : -2, whole ? 1.99 : 2));
  }
  return inputs;
}

testing::AssertionResult equivalent(const Graph& before, const Graph& after, double relative, double absolute) {
  const std::vector<Bindings> samples = sample_bindings(before, 4);
  if (samples.empty()) {
    return testing::AssertionFailure() << "no binding fits graph `" << before.name() << "`";
  }
  for (const Bindings& bindings : samples) {
    const std::vector<Array> inputs = random_inputs(before, bindings, 7);
    const auto expected = interpret(before, inputs, {.bindings = bindings});
    const auto actual = interpret(after, inputs, {.bindings = bindings});
    for (size_t i = 0; i < expected.size(); ++i) {
      if (const auto result = close(actual[i], expected[i], relative, absolute); !result) {
        return testing::AssertionFailure() << "at " << bindings.to_string() << ", output `" << before.outputs()[i].name
                                           << "`: " << result.message();
      }
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace tenon
