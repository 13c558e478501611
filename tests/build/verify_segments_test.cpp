// A program that contradicts itself is an Error that says where, whatever the checksums are.
#include "saved/verify_segments.h"

#include <gtest/gtest.h>

#include <functional>

#include "kernel/program/program_verify.h"
#include "program_folder.h"
#include "saved/segments_bytes.h"
#include "support/error_text.h"
#include "support/program_parts.h"
#include "tenon/tenon.h"

namespace tenon::verify_segments_test {
namespace {

using runtime::Segments;

struct Read {
  Segments segments;
  size_t kernels = 0;
};

Read read_back(const std::string& text) {
  const ProgramFolder folder;
  const std::string path = folder / "model.tenon";
  build_program(parse_graph(text), path, {.compile = {.native = false}});
  ProgramParts parts = take_apart(read_file(path));
  Read read;
  read.segments = saved::segments_from_bytes(
                      parts.find(saved::SectionKind::program).bytes, {},
                      [](const saved::ConstantReference& reference) { return Array(reference.dtype, reference.dims); })
                      .segments;
  for (const runtime::Segment& each : read.segments.segments) {
    read.kernels += kernel_count(each.program);
  }
  return read;
}

/// Kernels, one of which writes where an input lies, and a routine.
const char* const kSteps =
    "graph g(x: f32[row, 4], state: f32[row, 4]) {\n"
    "  a = softmax(x, -1)\n"
    "  b = sort(a, axis=1)\n"
    "  return b=b, next=add(state, a) aliases state\n}";
const char* const kSegments =
    "graph g(x: f32[row]) {\n  kept = compress(x, ge(x, 0), axis=0, name=kept)\n  return y=softmax(kept, -1)\n}";

std::string complaint(const Read& read, const std::function<void(Segments&)>& change) {
  Read changed = read;
  change(changed.segments);
  return error_text([&] { saved::verify_segments(changed.segments, changed.kernels); });
}

size_t first_step(const Program& program, const auto& is) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (is(program.steps[i])) return i;
  }
  ADD_FAILURE() << "no such step";
  return 0;
}

LaunchPart& first_part(Program& program) {
  const size_t at = first_step(program, [](const Step& step) { return !parts_of(step).empty(); });
  return std::get<LaunchStep>(program.steps[at].what).parts.front();
}

Step& first_routine(Program& program) {
  return program
      .steps[first_step(program, [](const Step& step) { return std::holds_alternative<RoutineStep>(step.what); })];
}

TEST(VerifySegments, WhatWasBuiltHoldsTogether) {
  for (const char* text : {kSteps, kSegments}) {
    EXPECT_EQ(complaint(read_back(text), [](Segments&) {}), "no error");
  }
}

struct Lie {
  const char* part;  // of the complaint
  std::function<void(Program&)> tell;
};

TEST(VerifySegments, LiesOfAProgramAreFound) {
  const Read read = read_back(kSteps);
  const Lie lies[] = {
      {"has buffer 99, of", [](Program& p) { p.inputs[0].buffer = 99; }},
      {"has buffer -1, of", [](Program& p) { p.outputs[0].buffer = -1; }},
      {"lies in a buffer that is not its own", [](Program& p) { std::swap(p.inputs[0].buffer, p.inputs[1].buffer); }},
      {"is no view of its buffer", [](Program& p) { p.outputs[0].strides.pop_back(); }},
      {"takes over input 7, of 2", [](Program& p) { p.outputs[0].aliases = 7; }},
      {"a buffer is input 9, of 2", [](Program& p) { p.buffers[static_cast<size_t>(p.inputs[0].buffer)].source = 9; }},
      {"a buffer is constant 5, of",
       [](Program& p) { p.buffers.push_back({.elements = 4, .memory = Memory::constant, .source = 5}); }},
      {"which has 2 f32",
       [](Program& p) {
         p.constants.emplace_back(f32, std::vector<int64_t>{2});
         const auto last = static_cast<int>(p.constants.size()) - 1;
         p.buffers.push_back({.elements = 1000, .memory = Memory::constant, .source = last});
       }},
      {"the buffer of an input has 3 elements",
       [](Program& p) { p.buffers[static_cast<size_t>(p.inputs[0].buffer)].elements = 3; }},
      {"launches kernel 50, of", [](Program& p) { first_part(p).kernel = 50; }},
      {"launches kernel -1, of", [](Program& p) { first_part(p).kernel = -1; }},
      {"buffers, which takes", [](Program& p) { first_part(p).buffers.push_back(0); }},
      {"without saying so", [](Program& p) { first_part(p).buffers[0] = 1'000'000; }},
      {"takes the place of part", [](Program& p) { first_part(p).long_rows_of = 4; }},
      {"launches nothing", [](Program& p) { p.steps[0].what = LaunchStep{}; }},
      {"has buffer 1000, of", [](Program& p) { p.steps[0].reads.push_back(1000); }},
      {"which is an input that no output takes over",
       [](Program& p) { p.steps[0].writes.push_back(p.inputs[0].buffer); }},
      {"does not say that it writes it",
       [](Program& p) { p.steps[0].updates.push_back({.buffer = p.inputs[0].buffer, .elements = 1}); }},
      {"has no phases", [](Program& p) { p.facts[0].phases.clear(); }},
      {"and a phase of it", [](Program& p) { p.facts[0].phases[0].buffers.clear(); }},
      {"may share memory, of", [](Program& p) { p.facts[0].may_share.push_back({.input = 0, .output = 60}); }},
      {"has operands that its routine does not take",
       [](Program& p) {
         auto& routine = std::get<RoutineStep>(first_routine(p).what);
         std::get<SortRoutine>(routine.routine).axis = 5;
       }},
      {"shapes for", [](Program& p) { std::get<RoutineStep>(first_routine(p).what).shapes.pop_back(); }},
      {"a region of 9 steps", [](Program& p) { p.regions.push_back({.first = 0, .count = 9}); }},
      {"a region of 2147483647 steps", [](Program& p) { p.regions = {{.first = 1, .count = 2147483647}}; }},
      {"a region of -5 steps", [](Program& p) { p.regions = {{.first = 0, .count = -5}}; }},
      {"a limit below 0", [](Program& p) { p.most_row_bytes = -1; }},
  };
  for (const Lie& lie : lies) {
    const std::string text = complaint(read, [&](Segments& all) { lie.tell(all.segments[0].program); });
    EXPECT_TRUE(mentions(text, {lie.part}));
  }
}

/// The body takes a carried value of 8 * row elements, and gives one of min(col, 8) * row.
TEST(VerifySegments, SizesThatMayBeEqualAreAskedFor) {
  const Read read = read_back(
      "graph body(i: i64[], a: f32[row, min(col, 8)], b: f32[row, 8]) {\n  return b=b, s=concat(a, b, axis=1)\n}\n"
      "graph g(a: f32[row, min(col, 8)], b: f32[3, row, 8], c: f32[col]) {\n"
      "  last, all = loop(a, b, body=body, trips=3, carried=1, scanned=1)\n  return last=last, all=all, c=exp(c)\n}");
  Segments segments = read.segments;
  saved::verify_segments(segments, read.kernels);
  segments.segments[0].constraints.check({{"row", 2}, {"col", 9}});
  Segments bare = read.segments;
  bare.segments[0].constraints = {};
  saved::verify_segments(bare, read.kernels);
  EXPECT_TRUE(mentions(error_text([&] { bare.segments[0].constraints.check({{"row", 2}, {"col", 5}}); }),
                       {"what a body takes or gives"}));
}

TEST(VerifySegments, LiesBetweenSegmentsAreFound) {
  const Read read = read_back(kSegments);
  ASSERT_GT(read.segments.segments.size(), 1U);
  const auto says = [&](const char* part, const std::function<void(Segments&)>& change) {
    EXPECT_TRUE(mentions(complaint(read, change), {part}));
  };
  says("there is no program", [](Segments& all) { all.segments.clear(); });
  says("is value 0 of segment 1", [](Segments& all) { all.segments[1].inputs[0] = {.segment = 1, .index = 0}; });
  says("is value 9 of segment 0", [](Segments& all) { all.segments[1].inputs[0] = {.segment = 0, .index = 9}; });
  says("is value 5 of segment -1", [](Segments& all) { all.segments[0].inputs[0] = {.segment = -1, .index = 5}; });
  says("is value 0 of segment -3", [](Segments& all) { all.segments[0].inputs[0] = {.segment = -3, .index = 0}; });
  says("inputs, and takes", [](Segments& all) { all.segments[1].inputs.clear(); });
  says("is bound by outputs 8 and", [](Segments& all) { all.segments[0].binds[0].positions = 8; });
  says("is bound by outputs", [](Segments& all) { all.segments[0].binds[0].count = -2; });
  says("is value 7 of segment 1", [](Segments& all) { all.outputs[0] = {.segment = 1, .index = 7}; });
  says("is value 0 of segment 2", [](Segments& all) { all.outputs[0] = {.segment = 2, .index = 0}; });
  says("is value 0 of segment -1", [](Segments& all) { all.outputs[0] = {.segment = -1, .index = 0}; });
  says("values for", [](Segments& all) { all.outputs.pop_back(); });
  Read fewer = read;
  fewer.kernels = 0;
  EXPECT_TRUE(mentions(complaint(fewer, [](Segments&) {}), {"kernels, with code of 0"}));
}

TEST(VerifySegments, InputsThatAreNoSizesAreFound) {
  const Read read = read_back(kSteps);
  EXPECT_EQ(complaint(read, [](Segments& all) { all.signature.inputs[0].gives = {"row"}; }),
            "input `x` is f32[row, 4], which is not 1 sizes");
}

}  // namespace
}  // namespace tenon::verify_segments_test
