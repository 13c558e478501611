#include "kernel/program/program.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "kernel/program/program_bytes.h"
#include "kernel/program/signature.h"

namespace tenon::program_test {
namespace {

TEST(Program, TrafficCountsEachBufferOnce) {
  const Extent n = Extent::name("n");
  Program program;
  program.buffers = {{.dtype = f32, .elements = n}, {.dtype = f64, .elements = 3}, {.dtype = f16, .elements = n * n}};
  Step step;
  step.reads = {0, 1, 0};
  step.writes = {0, 2};
  const Traffic bytes = traffic(program, step);
  EXPECT_EQ(bytes.read, 4 * n + 24);
  EXPECT_EQ(bytes.written, 4 * n + 2 * n * n);
}

Shape row() { return shape(f32, "n"); }

Step launch() {
  return {.what = LaunchStep{{{.kernel = 0, .buffers = {0, 1}},
                              {.kernel = 0, .buffers = {0, 1}, .long_rows_of = 0, .row_bytes = 4 * Extent::name("n")}}},
          .reads = {0},
          .writes = {1},
          .updates = {{.buffer = 1, .elements = 3}},
          .label = "exp",
          .boundary = "a routine reads it",
          .region_end = "it has a single row",
          .flops = 2};
}

Step call_of(LibraryRoutine routine) {
  return {.what = RoutineStep{.routine = std::move(routine), .shapes = {row(), row()}},
          .reads = {1},
          .writes = {2},
          .label = "routine",
          .boundary = {},
          .region_end = {}};
}

Step control_of(Control control, std::vector<Program> bodies) {
  return {.what = ControlStep{.control = std::move(control), .bodies = std::move(bodies)},
          .reads = {1, 2},
          .writes = {2},
          .label = "control",
          .boundary = {},
          .region_end = {}};
}

/// Something of everything that a program can hold.
Program program_of_all() {
  Program program;
  program.name = "all";
  program.inputs = {{.name = "x", .shape = row(), .buffer = 0}};
  program.outputs = {{.name = "y", .shape = row(), .buffer = 1, .offset = 1, .strides = {2}, .aliases = 0}};
  program.buffers = {{.dtype = f32, .elements = Extent::name("n"), .memory = Memory::input, .source = 0},
                     {.dtype = f32, .elements = Extent::name("n"), .memory = Memory::output},
                     {.dtype = f32, .elements = 2, .memory = Memory::constant, .source = 0}};
  program.constants = {Array::from<float>({2}, {std::numeric_limits<float>::quiet_NaN(), -0.0F})};
  program.layouts = {{.constant = 0, .layout = layouts::StorageOrder{{0}}},
                     {.constant = 0, .layout = layouts::PanelLayout{}}};
  program.facts = {{.name = "exp",
                    .arguments = {{.dtype = f32, .role = loops::Role::input, .elements = Extent::name("n")}},
                    .may_share = {{.input = 0, .output = 1}},
                    .sizes = {Extent::name("n")},
                    .scratch_bytes = 64,
                    .phases = {{.grid = 1, .items = 1, .rows = 1, .work = 5, .buffers = {{}, {}}}},
                    .sites = {"{position} of {size}"}}};
  program.regions = {{.first = 0, .count = 2}};
  const Program inner = program;
  program.steps = {
      launch(),
      call_of(SortRoutine{.axis = 1, .descending = true}),
      call_of(ScanRoutine{.op = ReduceOp::max, .axis = 1, .exclusive = true, .reverse = true}),
      call_of(ScatterRoutine{.op = ScatterOp::min, .axes = {0}, .x_batch = {1}, .index_batch = {1}, .place = "/put"}),
      call_of(PositionsRoutine{}),
      control_of(BranchControl{}, {inner, {}}),
      control_of(LoopControl{.trips = 7, .carried = 1, .scanned = 2, .conditional = true}, {inner}),
      control_of(CallControl{}, {inner})};
  return program;
}

TEST(Program, IsReadBackFromBytesAsItWas) {
  const Program program = program_of_all();
  EXPECT_TRUE(program_from_bytes(to_bytes(program)) == program);
}

TEST(Program, DiffersInWhateverDiffers) {
  const std::vector<std::function<void(Program&)>> changes = {
      [](Program& p) { p.name = "other"; },
      [](Program& p) { p.inputs[0].shape = shape(f32, "m"); },
      [](Program& p) { p.outputs[0].strides = {1}; },
      [](Program& p) { p.buffers[2].elements = 3; },
      [](Program& p) { p.constants[0] = Array::from<float>({2}, {0, -0.0F}); },
      [](Program& p) { p.constants[0] = p.constants[0].reshaped({2, 1}); },
      [](Program& p) { p.layouts.pop_back(); },
      [](Program& p) { p.facts[0].phases[0].work = 6; },
      [](Program& p) { p.regions[0].count = 3; },
      [](Program& p) { p.pipelines.rows = 8; },
      [](Program& p) { p.most_row_bytes += 1; },
      [](Program& p) { p.least_shared_work += 1; },
      [](Program& p) { std::get<LaunchStep>(p.steps[0].what).parts[1].row_bytes = 1; },
      [](Program& p) { std::get<RoutineStep>(p.steps[1].what).routine = SortRoutine{}; },
      [](Program& p) { std::get<RoutineStep>(p.steps[1].what).shapes.pop_back(); },
      [](Program& p) { std::get<LoopControl>(std::get<ControlStep>(p.steps[6].what).control).trips = 8; },
      [](Program& p) { bodies_of(p.steps[7])[0].name = "other"; },
      [](Program& p) { p.steps[0].what = p.steps[1].what; },
      [](Program& p) { p.steps[0].updates.clear(); },
      [](Program& p) { p.steps[0].flops = 3; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Program program = program_of_all();
    changes[i](program);
    EXPECT_FALSE(program == program_of_all()) << i;
    EXPECT_TRUE(program_from_bytes(to_bytes(program)) == program) << i;
  }
}

TEST(Program, IsTheSameWithoutItsLoops) {
  Program program = program_of_all();
  program.kernels.emplace_back();
  EXPECT_TRUE(program == program_of_all());
}

TEST(Program, LaunchesAndBodiesOfStepsOfAnyKind) {
  const Program program = program_of_all();
  EXPECT_EQ(parts_of(program.steps[0]).size(), 2U);
  EXPECT_TRUE(bodies_of(program.steps[0]).empty());
  EXPECT_TRUE(parts_of(program.steps[1]).empty());
  EXPECT_TRUE(bodies_of(program.steps[1]).empty());
  EXPECT_TRUE(parts_of(program.steps[5]).empty());
  EXPECT_EQ(bodies_of(program.steps[5]).size(), 2U);
  EXPECT_EQ(launch_count(program), 1);
  EXPECT_EQ(kernel_count(program), 4U);
}

TEST(Signature, OfAProgramNamesWhatItTakesAndGives) {
  const Signature expected{
      .name = "all", .inputs = {{.name = "x", .shape = row()}}, .outputs = {{.name = "y", .shape = row()}}};
  EXPECT_TRUE(signature_of(program_of_all()) == expected);
}

}  // namespace
}  // namespace tenon::program_test
