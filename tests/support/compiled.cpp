#include "support/compiled.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/lowered.h"
#include "kernel/loop/loop_bytes.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "tenon/error.h"
#include "tenon/interpreter.h"

namespace tenon {
namespace {

/// Of the finite numbers; 0 for none, and for what is no float.
double largest(const Array& array) {
  double most = 0;
  for (int64_t i = 0; is_float(array.dtype()) && i < array.size(); ++i) {
    const double each = std::abs(array.at(i));
    most = std::isfinite(each) ? std::max(most, each) : most;
  }
  return most;
}

/// What a graph gives, or what the interpreter says instead.
struct Expected {
  std::vector<Array> inputs;
  std::vector<Array> outputs = {};
  std::optional<std::string> error = {};
};

Expected expected_at(const Graph& graph, const Bindings& bindings, const CompiledCheck& check) {
  Expected expected{.inputs = check.inputs ? check.inputs(graph, bindings) : random_inputs(graph, bindings, 11)};
  try {
    expected.outputs = interpret(graph, expected.inputs, {.bindings = bindings});
  } catch (const Error& error) {
    expected.error = error.what();
  }
  return expected;
}

testing::AssertionResult matches_at(const Graph& graph, const Executable& executable, const Bindings& bindings,
                                    const CompiledCheck& check, const Expected& expected) {
  const std::vector<Array>& inputs = expected.inputs;
  if (expected.error) {
    const std::string said = error_text([&] { executable.run(inputs, {.bindings = bindings}); });
    return said == *expected.error ? testing::AssertionSuccess()
                                   : testing::AssertionFailure() << "says\n"
                                                                 << said << "\nthe interpreter says\n"
                                                                 << *expected.error;
  }
  const std::vector<Array> actual = executable.run(inputs, {.threads = 1, .bindings = bindings});
  const std::vector<Array> threaded = executable.run(inputs, {.threads = 2, .bindings = bindings});
  for (size_t i = 0; i < actual.size(); ++i) {
    const Array& wanted = expected.outputs[i];
    const double absolute = check.absolute + check.of_largest * largest(wanted);
    if (const auto result = close(actual[i], wanted, check.relative, absolute); !result) {
      return testing::AssertionFailure() << "output `" << graph.outputs()[i].name << "`: " << result.message();
    }
    if (const auto result = same(threaded[i], actual[i]); !result) {
      return testing::AssertionFailure() << "output `" << graph.outputs()[i].name
                                         << "` with two threads: " << result.message();
    }
  }
  return testing::AssertionSuccess();
}

/// Without what is said of a program, and without what would be decided of long rows and of tiles where there are none.
void keep_what_runs(Program& program) {
  bool has_long_rows = false;
  for (Step& step : program.steps) {
    step.boundary.clear();
    step.region_end.clear();
    std::ranges::for_each(bodies_of(step), keep_what_runs);
    has_long_rows = has_long_rows ||
                    std::ranges::any_of(parts_of(step), [](const LaunchPart& part) { return part.long_rows_of >= 0; });
  }
  program.most_row_bytes = has_long_rows ? program.most_row_bytes : 0;
  program.pipelines = program.regions.empty() ? Pipelines{} : program.pipelines;
}

/// Whether both would run the same loops over the same buffers.
bool is_same_program(const compiler::Lowered& a, const compiler::Lowered& b) {
  const auto same_segment = [](const compiler::LoweredSegment& x, const compiler::LoweredSegment& y) {
    Program left = x.program;
    Program right = y.program;
    keep_what_runs(left);
    keep_what_runs(right);
    return left == right;
  };
  const auto same_kernel = [](const loops::Kernel* x, const loops::Kernel* y) {
    return loops::to_bytes(*x) == loops::to_bytes(*y);
  };
  return a.machine == b.machine && std::ranges::equal(a.segments, b.segments, same_segment) &&
         std::ranges::equal(a.kernels(), b.kernels(), same_kernel);
}

/// One of several ways to compile a graph.
struct Way {
  CompileOptions options;
  Executable executable;
};

/// Each way but those that give the program of an earlier one, for which code would only be made again.
std::vector<Way> compiled_each_way(const Graph& graph, const std::vector<CompileOptions>& ways) {
  std::vector<compiler::Lowered> programs;
  std::vector<CompileOptions> options;
  for (CompileOptions way : ways) {
    way.least_shared_work = 0;  // with two threads each has some, however small it is
    CompileReport report;
    compiler::Lowered program = compiler::lower(graph, way, report);
    bool is_known = false;
    for (size_t i = 0; i < programs.size() && !is_known; ++i) {
      is_known = options[i].native == way.native && is_same_program(programs[i], program);
    }
    if (!is_known) {
      programs.push_back(std::move(program));
      options.push_back(way);
    }
  }
  std::vector<Way> compiled;
  for (size_t i = 0; i < programs.size(); ++i) {
    CompileReport report;
    compiled.push_back(
        {.options = options[i],
         .executable = compiler::compile(std::move(programs[i]), compiler::code_choice(options[i]), report)});
  }
  return compiled;
}

testing::AssertionResult all_match(const Graph& graph, const std::vector<CompileOptions>& ways,
                                   const CompiledCheck& check) {
  const std::vector<Bindings> samples = check.at.empty() ? sample_bindings(graph, check.bindings) : check.at;
  if (samples.empty()) {
    return testing::AssertionFailure() << "no binding fits graph `" << graph.name() << "`";
  }
  try {
    const std::vector<Way> compiled = compiled_each_way(graph, ways);
    for (const Bindings& bindings : samples) {
      const Expected expected = expected_at(graph, bindings, check);
      for (const auto& [way, executable] : compiled) {
        if (const auto result = matches_at(graph, executable, bindings, check, expected); !result) {
          return testing::AssertionFailure()
                 << (way.native ? "native" : "interpreted") << (way.fuse ? "" : ", not fused")
                 << (way.most_row_bytes > 0 ? "" : ", rows streamed") << ", at " << bindings.to_string() << ", "
                 << result.message() << "\n"
                 << executable.explain();
        }
      }
    }
  } catch (const Error& error) {
    return testing::AssertionFailure() << error.what();
  }
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult compiled_matches(const Graph& graph, const CompiledCheck& check) {
  return all_match(graph, {check.compile}, check);
}

testing::AssertionResult matches_every_way(const Graph& graph, const CompiledCheck& check) {
  return all_match(graph,
                   {{.disk_cache = false},
                    {.fuse = false, .disk_cache = false},
                    {.native = false},
                    {.native = false, .most_row_bytes = 0}},
                   check);
}

testing::AssertionResult same_for_any_threads(const Executable& executable, const std::vector<Array>& inputs) {
  const std::vector<Array> expected = executable.run(inputs, {.threads = 1});
  for (const int threads : {2, 7}) {
    const std::vector<Array> actual = executable.run(inputs, {.threads = threads});
    for (size_t i = 0; i < expected.size(); ++i) {
      if (const auto result = same(actual[i], expected[i]); !result) {
        return testing::AssertionFailure() << "output " << i << " with " << threads << " threads: " << result.message();
      }
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace tenon
