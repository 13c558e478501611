// Which kernels have a form for long rows, and how often that reads its input.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/pipeline.h"
#include "kernel/loop/loop_walk.h"
#include "schedule/schedule.h"
#include "support/small_graph.h"

namespace tenon::schedule::long_rows_test {
namespace {

Program program_of(const SmallGraph& graph) {
  std::vector<PassRun> runs;
  return make_program(compiler::optimize(make(graph), {}, runs));
}

bool loads_input(const loops::Kernel& kernel, const loops::Phase& phase) {
  bool found = false;
  loops::for_each_statement(phase.body, [&](const loops::Statement& statement) {
    if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
      const auto* load = std::get_if<loops::Load>(&kernel.values[static_cast<size_t>(define->value)].what);
      found |= load && kernel.buffers[static_cast<size_t>(load->buffer)].role == loops::Role::input;
    }
  });
  return found;
}

struct Case {
  SmallGraph graph;
  int passes = 0;  // over the input, in the form for long rows; 0: there is none
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.graph.name; }

class LongRowForms : public testing::TestWithParam<Case> {};

TEST_P(LongRowForms, ReadsItsInputSoOften) {
  const Program program = program_of(GetParam().graph);
  ASSERT_EQ(program.steps.size(), 1u);
  const std::span<const LaunchPart> parts = parts_of(program.steps[0]);
  ASSERT_EQ(parts.size(), GetParam().passes == 0 ? 1u : 2u);
  if (GetParam().passes == 0) {
    return;
  }
  EXPECT_EQ(parts[1].long_rows_of, 0);
  const loops::Kernel& kernel = program.kernels[static_cast<size_t>(parts[1].kernel)];
  EXPECT_EQ(std::ranges::count_if(kernel.phases, [&](const loops::Phase& phase) { return loads_input(kernel, phase); }),
            GetParam().passes)
      << to_string(kernel);
}

INSTANTIATE_TEST_SUITE_P(
    All, LongRowForms,
    testing::Values(Case{{"variance", "x: f32[row, col]", "y = variance(x, axes=[1], correction=0)"}, 1},
                    Case{{"logsumexp", "x: f32[row, col]", "y = logsumexp(x, axes=[1])"}, 1},
                    Case{{"softmax", "x: f32[row, col]", "y = softmax(x)"}, 2},
                    Case{{"layer_norm", "x: f32[row, col]", "y = layer_norm(x)"}, 2},
                    Case{{"cross_entropy", "x: f32[row, col], labels: i64[row]", "y = cross_entropy(x, labels)"}, 2},
                    // Short ones have none, and neither have those that would read as much in it.
                    Case{{"layer_norm_768", "x: f32[row, 768]", "y = layer_norm(x)"}, 0},
                    Case{{"sum", "x: f32[row, col]", "y = reduce_sum(x, axes=[1])"}, 0},
                    Case{{"less_the_sum", "x: f32[row, col]", "y = sub(x, reduce_sum(x, axes=[1], keep=true))"}, 0},
                    // In phases already.
                    Case{{"variance_of_all", "x: f32[row, col]", "y = variance(x, axes=[0, 1], correction=0)"}, 0}),
    [](const auto& each) { return each.param.graph.name; });

TEST(RowsOfAll, AVarianceOfAllReadsItsInputOnce) {
  const Program program =
      program_of({"variance_of_all", "x: f32[row, col]", "y = variance(x, axes=[0, 1], correction=0)"});
  const loops::Kernel& kernel = program.kernels.at(0);
  EXPECT_EQ(std::ranges::count_if(kernel.phases, [&](const loops::Phase& phase) { return loads_input(kernel, phase); }),
            1);
  EXPECT_EQ(kernel.phases.size(), 2u);
}

// Else few columns would make a tall matrix the work of one thread.
TEST(RowsOfAll, AMatrixIsCutAlongItsRowsWhateverAVectorBesideItIsCutAlong) {
  const Program program =
      program_of({"sums", "a: f32[row, col], c: f32[col]", "y = add(reduce_sum(c), reduce_sum(a)); y1 = softmax(a)"});
  ASSERT_EQ(program.steps.size(), 1u);
  const loops::Kernel& kernel = program.kernels.at(0);
  std::vector<std::string> grids;
  for (const loops::Phase& phase : kernel.phases) {
    for (const int axis : phase.grid) {
      grids.push_back(kernel.axes[static_cast<size_t>(axis)].name);
    }
  }
  EXPECT_EQ(grids, (std::vector<std::string>{"i1_tile", "i0_tile"})) << to_string(kernel);
}

/// A mean over rows takes them in tiles: each row is as short as it was.
TEST(LongRowForms, AreForLongRowsAndNotForMany) {
  for (const char* const y : {"y = cross_entropy(x, labels)", "y = cross_entropy(x, labels, reduction=none)"}) {
    const Program program = program_of({"losses", "x: f32[row, col], labels: i64[row]", y});
    ASSERT_EQ(parts_of(program.steps[0]).size(), 2u) << y;
    const Extent& bytes = parts_of(program.steps[0])[1].row_bytes;
    Bindings short_rows;
    short_rows.set("row", 100000);
    short_rows.set("col", 1024);
    EXPECT_LE(evaluate(bytes, short_rows), program.most_row_bytes) << y << ": " << bytes.to_string();
    Bindings long_rows;
    long_rows.set("row", 1);
    long_rows.set("col", 1 << 20);
    EXPECT_GT(evaluate(bytes, long_rows), program.most_row_bytes) << y << ": " << bytes.to_string();
  }
}

// To compute exponentials twice costs short vectors more than memory, which arithmetic alone does not.
TEST(LongRowForms, AreLeftToFewRowsWhereVectorsAreShort) {
  const SmallGraph softmax{"softmax", "x: f32[row, col]", "y = softmax(x)"};
  const SmallGraph norm{"layer_norm", "x: f32[row, col]", "y = layer_norm(x)"};
  const SmallGraph sum{"logsumexp", "x: f32[row, col]", "y = logsumexp(x, axes=[1])"};
  const auto streams = [](const SmallGraph& graph, int64_t vector_bytes, int64_t rows) {
    std::vector<PassRun> runs;
    const Program program =
        make_program(compiler::optimize(make(graph), {}, runs), {.cores = 4, .vector_bytes = vector_bytes});
    const std::span<const LaunchPart> parts = parts_of(program.steps[0]);
    Bindings sizes;
    sizes.set("row", rows);
    sizes.set("col", 1 << 20);
    return parts.size() == 2 && evaluate(parts[1].row_bytes, sizes) > program.most_row_bytes;
  };
  for (const int64_t rows : {1, 3, 4, 100}) {
    for (const SmallGraph& each : {norm, sum}) {
      EXPECT_TRUE(streams(each, 16, rows)) << each.name << ", " << rows;
    }
    for (const int64_t vector_bytes : {16, 32, 64}) {
      EXPECT_EQ(streams(softmax, vector_bytes, rows), vector_bytes > 16 || rows < 4) << vector_bytes << ", " << rows;
    }
  }
}

// What is read once a channel, such as its scale and its statistics, does not decide where lanes run.
TEST(RowsOfChannels, LanesRunAlongWhatIsReadForEveryElement) {
  const Program program =
      program_of({"batch_norm", "x: f32[b, 256, h, w], s: f32[256], t: f32[256], m: f32[256], v: f32[256]",
                  "p, q, r = batch_norm_training(x, s, t, m, v); y = relu(p); y1 = neg(q); y2 = neg(r)"});
  ASSERT_EQ(program.kernels.size(), 2u);
  for (const loops::Kernel& kernel : program.kernels) {
    for (const loops::Value& value : kernel.values) {
      const auto* load = std::get_if<loops::Load>(&value.what);
      if (!load || load->at.terms.size() < 3 ||
          kernel.buffers[static_cast<size_t>(load->buffer)].role != loops::Role::input) {
        continue;
      }
      EXPECT_TRUE(std::ranges::any_of(load->at.terms, [&](const loops::Term& term) {
        return kernel.axes[static_cast<size_t>(term.axis)].binding == loops::Binding::lanes && term.scale == Extent(1);
      })) << to_string(kernel);
    }
  }
}

}  // namespace
}  // namespace tenon::schedule::long_rows_test
