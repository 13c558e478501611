#include "support/differential.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/error.h"
#include "tenon/interpreter.h"

namespace tenon {
namespace {

constexpr size_t kBindings = 3;

std::optional<std::string> compare(const Array& actual, const Array& expected, const Tolerance& tolerance) {
  if (actual.dtype() != expected.dtype() || actual.dims() != expected.dims()) {
    return fmt::format("is {}, expected {}", actual.to_string(8), expected.to_string(8));
  }
  if (same_bits(actual, expected)) {
    return {};
  }
  const bool is_whole = !is_float(expected.dtype());
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.at(i);
    const double b = expected.at(i);
    const bool equal = a == b || (std::isnan(a) && std::isnan(b));
    if (!equal && (is_whole || !(std::fabs(a - b) <= tolerance.absolute + tolerance.relative * std::fabs(b)))) {
      return fmt::format("element {} is {}, expected {} within {} + {} * itself\n  {}\n  {}", i, a, b,
                         tolerance.absolute, tolerance.relative, actual.to_string(16), expected.to_string(16));
    }
  }
  if (is_whole) {
    return "differs beyond 2^53";
  }
  return {};
}

/// The outputs, or what an Error said.
struct Outcome {
  std::vector<Array> outputs;
  std::string error;
};

template <class F>
Outcome outcome(F&& run) {
  try {
    return {.outputs = run(), .error = {}};
  } catch (const Error& error) {
    return {.outputs = {}, .error = error.what()};
  }
}

/// Of several positions out of range any may be named, and one that no output needs may go unnoticed.
bool is_same_error(const Outcome& actual, const Outcome& expected) {
  constexpr std::string_view kPosition = "gather: position";
  if (expected.error.starts_with(kPosition)) {
    return actual.error.empty() || actual.error.starts_with(kPosition);
  }
  return actual.error == expected.error;
}

}  // namespace

std::optional<std::string> find_difference(const RandomGraph& random, uint64_t seed, const CompileOptions& options) {
  const Graph& graph = random.graph;
  std::optional<Executable> executable;
  try {
    CompileOptions shared = options;
    shared.least_shared_work = 0;  // random graphs are small
    executable = compile(graph, shared);
  } catch (const std::exception& error) {
    return fmt::format("does not compile: {}", error.what());
  }
  for (const Bindings& bindings : random_bindings(graph, seed, kBindings)) {
    const auto difference = [&](const std::string& what) {
      return fmt::format("at {}: {}\n{}", bindings.to_string(), what, executable->explain());
    };
    const std::vector<Array> inputs = random_graph_inputs(random, bindings, seed);
    const Outcome expected = outcome([&] { return interpret(graph, inputs, {.bindings = bindings}); });
    std::vector<Array> with_one_thread;
    for (const int threads : {1, 2}) {
      const Outcome actual =
          outcome([&] { return executable->run(inputs, {.threads = threads, .bindings = bindings}); });
      if (!is_same_error(actual, expected)) {
        return difference(
            fmt::format("with {} threads the Error is `{}`, expected `{}`", threads, actual.error, expected.error));
      }
      for (size_t i = 0; i < expected.outputs.size(); ++i) {
        auto wrong = compare(actual.outputs[i], expected.outputs[i], random.tolerances[i]);
        if (threads > 1 && !same_bits(actual.outputs[i], with_one_thread[i])) {
          wrong = "has other bits than with one";
        }
        if (wrong) {
          return difference(fmt::format("with {} threads output `{}` {}", threads, graph.outputs()[i].name, *wrong));
        }
      }
      if (threads == 1) {
        with_one_thread = actual.outputs;
      }
    }
  }
  return {};
}

}  // namespace tenon
