#include "support/compiled.h"

#include <algorithm>
#include <cmath>

#include "support/arrays.h"
#include "support/equivalence.h"
#include "tenon/error.h"
#include "tenon/interpreter.h"

namespace tenon {
namespace {

/// Of the finite numbers; 0 for none, and for what is no float.
double largest(const Array& array) {
  double most = 0;
  if (array.dtype() == Dtype::f32) {
    for (const float each : array.values<float>()) {
      most = std::isfinite(each) ? std::max(most, std::abs(double{each})) : most;
    }
  }
  return most;
}

testing::AssertionResult matches_at(const Graph& graph, const Executable& executable, const Bindings& bindings,
                                    const CompiledCheck& check) {
  const std::vector<Array> inputs = random_inputs(graph, bindings, 11);
  std::vector<Array> expected;
  try {
    expected = interpret(graph, inputs, {.bindings = bindings});
  } catch (const Error& error) {
    const std::string said = error_text([&] { executable.run(inputs, {.bindings = bindings}); });
    return said == error.what() ? testing::AssertionSuccess()
                                : testing::AssertionFailure() << "says\n"
                                                              << said << "\nthe interpreter says\n"
                                                              << error.what();
  }
  const std::vector<Array> actual = executable.run(inputs, {.threads = 1, .bindings = bindings});
  const std::vector<Array> threaded = executable.run(inputs, {.threads = 2, .bindings = bindings});
  for (size_t i = 0; i < expected.size(); ++i) {
    const double absolute = check.absolute + check.of_largest * largest(expected[i]);
    if (const auto result = close(actual[i], expected[i], check.relative, absolute); !result) {
      return testing::AssertionFailure() << "output `" << graph.outputs()[i].name << "`: " << result.message();
    }
    if (const auto result = same(threaded[i], actual[i]); !result) {
      return testing::AssertionFailure() << "output `" << graph.outputs()[i].name
                                         << "` with two threads: " << result.message();
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult compiled_matches(const Graph& graph, const CompiledCheck& check) {
  const std::vector<Bindings> samples = sample_bindings(graph, check.bindings);
  if (samples.empty()) {
    return testing::AssertionFailure() << "no binding fits graph `" << graph.name() << "`";
  }
  try {
    const Executable executable = compile(graph, check.compile);
    for (const Bindings& bindings : samples) {
      if (const auto result = matches_at(graph, executable, bindings, check); !result) {
        return testing::AssertionFailure() << "at " << bindings.to_string() << ", " << result.message() << "\n"
                                           << executable.explain();
      }
    }
  } catch (const Error& error) {
    return testing::AssertionFailure() << error.what();
  }
  return testing::AssertionSuccess();
}

}  // namespace tenon
