// Every tests/schedule/text/*.kernel: graphs, and the kernels that the scheduler makes of them. Cases are separated by
// a line `---`:
//
//   # A row sum and its use share one loop nest.
//   graph centred(x: f32[row, col]) {
//     return y=sub(x, reduce_sum(x, axes=[1], keep=true))
//   }
//   at row=3, col=9000
//   step reduce sub
//     ends here: its results are outputs of the graph
//   kernel reduce sub
//     axes    i0: row   i1: col vector
//     ...
//   long rows of 4*col bytes
//   kernel reduce sub
//     ...
//
// Inputs whose names begin with `w` are random constants. The graph goes through all passes first. `at` is a binding to
// run at, beside the usual ones; `options panel=16, bytes_together=4, cache=262144, vector_bytes=16` are
// ScheduleOptions, the cache being the one that tiles are made for. Then come the steps, each with its boundary and its
// kernels as to_string() writes them, those for long rows behind what they stand in for.
//
// The kernels that are expected are read back, verified and run by the loop interpreter, and must compute what the
// graph does. With TENON_WRITE=1 in the environment, expectations are rewritten instead.
#include "tenon/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fail.h"
#include "base/read_file.h"
#include "compiler/pipeline.h"
#include "kernel/loop/loop_parse.h"
#include "schedule/schedule.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "support/programs.h"
#include "support/small_graph.h"
#include "tenon/interpreter.h"

namespace tenon::schedule::text_test {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(TENON_SOURCE_DIR) / "tests/schedule/text";
constexpr size_t kBindings = 14;
constexpr double kRelative = 2e-5;
constexpr double kAbsolute = 1e-5;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

/// A case as it stands in its file, and what it asks for.
struct TextCase {
  std::string head;      // all above the steps
  std::string expected;  // the steps
  Graph graph;
  ScheduleOptions options;
  std::vector<Bindings> at;
};

void set_option(ScheduleOptions& options, std::string_view name, int64_t value) {
  if (name == "panel") {
    options.panel = value;
  } else if (name == "bytes_together") {
    options.bytes_together = value;
  } else if (name == "cache") {
    options.tiles = product_tiles(value);
  } else if (name == "vector_bytes") {
    options.vector_bytes = value;
  } else {
    fail("there is no option `{}`", name);
  }
}

TextCase make_case(const std::string& head, const std::string& expected) {
  TextCase result{.head = head, .expected = expected, .graph = {}, .options = {}, .at = {}};
  std::string graph;
  for (const std::string& line : lines_of(head)) {
    if (line.starts_with("at ")) {
      result.at.push_back(Bindings::parse(line.substr(3)));
    } else if (line.starts_with("options ")) {
      for (const auto& [name, value] : Bindings::parse(line.substr(8))) {
        set_option(result.options, name, value);
      }
    } else {
      graph += line + "\n";
    }
  }
  result.graph = with_constants(parse_graph(graph), "w");
  return result;
}

std::vector<TextCase> load_cases(const std::filesystem::path& file) {
  std::vector<TextCase> cases;
  std::string head;
  std::string expected;
  std::vector<std::string> lines = lines_of(read_file(file, int64_t{1} << 20));
  lines.emplace_back("---");
  for (const std::string& line : lines) {
    if (line == "---") {
      cases.push_back(make_case(head, expected));
      head = expected = "";
    } else {
      (expected.empty() && !line.starts_with("step ") ? head : expected) += line + "\n";
    }
  }
  return cases;
}

std::string without_trailing_spaces(const std::string& text) {
  return fmt::format("{}\n", fmt::join(lines_of(text), "\n"));
}

std::string to_text(const Program& program) {
  std::string text;
  for (const Step& step : program.steps) {
    text += fmt::format("step {}\n  ends here: {}\n", step.label, step.boundary);
    for (const LaunchPart& part : parts_of(step)) {
      if (part.long_rows_of >= 0) {
        text += fmt::format("long rows of {} bytes\n", part.row_bytes.to_string());
      }
      text += without_trailing_spaces(to_string(program.kernels.at(static_cast<size_t>(part.kernel))));
    }
  }
  return text;
}

/// In the order of the text, which is that of the program.
std::vector<loops::Kernel> kernels_of(const std::string& steps) {
  std::vector<std::string> texts;
  bool in_kernel = false;
  for (const std::string& line : lines_of(steps)) {
    if (!line.starts_with(' ')) {
      in_kernel = line.starts_with("kernel");
      if (in_kernel) {
        texts.emplace_back();
      }
    }
    if (in_kernel) {
      texts.back() += line + "\n";
    }
  }
  std::vector<loops::Kernel> kernels;
  for (const std::string& text : texts) {
    kernels.push_back(loops::parse_kernel(text));
    EXPECT_EQ(without_trailing_spaces(to_string(kernels.back())), text);
    verify(kernels.back());
  }
  return kernels;
}

void expect_same_as_graph(const TextCase& each, const Program& program) {
  const Executable executable = executable_of(program, each.graph.constraints());
  std::vector<Bindings> bindings = sample_bindings(each.graph, kBindings);
  bindings.insert(bindings.end(), each.at.begin(), each.at.end());
  ASSERT_FALSE(bindings.empty());
  for (const Bindings& at : bindings) {
    const std::vector<Array> inputs = random_inputs(each.graph, at, 11);
    const std::vector<Array> expected = interpret(each.graph, inputs, {.bindings = at});
    const std::vector<Array> actual = executable.run(inputs, {.threads = 2, .bindings = at});
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(close(actual[i], expected[i], kRelative, kAbsolute))
          << "output `" << each.graph.outputs()[i].name << "` at " << at.to_string();
    }
  }
}

class ScheduleText : public testing::TestWithParam<std::string> {};

TEST_P(ScheduleText, GraphsBecomeTheseKernelsWhichComputeTheSame) {
  const std::filesystem::path file = kFolder / GetParam();
  const bool writes = std::getenv("TENON_WRITE") != nullptr;
  std::string written;
  for (TextCase& each : load_cases(file)) {
    SCOPED_TRACE(GetParam() + ", graph " + each.graph.name());
    std::vector<PassRun> runs;
    Program program = make_program(compiler::optimize(each.graph, {}, runs), each.options);
    const std::string actual = to_text(program);
    written += (written.empty() ? "" : "---\n") + each.head + actual;
    if (!writes) {
      EXPECT_EQ(actual, each.expected);
    }
    std::vector<loops::Kernel> kernels = kernels_of(writes ? actual : each.expected);
    ASSERT_EQ(kernels.size(), program.kernels.size());
    program.kernels = std::move(kernels);
    program.least_shared_work = 0;  // with two threads each has some, however small it is
    expect_same_as_graph(each, program);
    program.most_row_bytes = 0;  // the forms for long rows
    expect_same_as_graph(each, program);
  }
  if (writes) {
    std::ofstream(file) << written;
  }
}

std::vector<std::string> text_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    files.push_back(entry.path().filename().string());
  }
  std::ranges::sort(files);
  return files;
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleText, testing::ValuesIn(text_files()),
                         [](const auto& test) { return std::filesystem::path(test.param).stem().string(); });

}  // namespace
}  // namespace tenon::schedule::text_test
