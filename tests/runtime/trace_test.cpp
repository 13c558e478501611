#include "tenon/trace.h"

#include <algorithm>
#include <memory>
#include <set>

#include "devices/cpu/cpu_device.h"
#include "support/arrays.h"
#include "support/programs.h"

namespace tenon::trace_test {
namespace {

const Extent kN = Extent::name("n");

Executable traced_program(const runtime::RuntimeOptions& options = {}) {
  ProgramBuilder program("traced");
  const int x = program.input("x", shape(f32, "n"));
  const int a = program.intermediate(f32, kN);
  const int y = program.output("y", shape(f32, "n"));
  program.step("first \"quoted\"", {program.part(scale_kernel(kN, 2, 0), {x, a})});
  program.library(SortRoutine{}, {a}, {y}, {shape(f32, "n"), shape(f32, "n")});
  return program.executable({}, options);
}

TEST(Trace, ShowsEveryStepWithItsBytes) {
  Pool pool(3);
  const Executable executable = traced_program({.device = std::make_shared<devices::CpuDevice>(pool)});
  for (const int64_t n : {10, 100000}) {
    Trace trace;
    executable.run({Array(f32, {n})}, {.trace = &trace});
    double first = 0;
    int64_t last_end = 0;
    for (const TraceEvent& event : trace.events()) {
      EXPECT_EQ(event.program, "traced");
      EXPECT_LE(event.begin_ns, event.end_ns);
      EXPECT_FALSE(event.gigaflops_per_second().has_value());
      if (event.step == 1) {
        EXPECT_EQ(event.label, "first \"quoted\"");
        EXPECT_GT(event.gigabytes_per_second(), 0);
        first += event.bytes;
        last_end = std::max(last_end, event.end_ns);
      } else {
        EXPECT_EQ(event.step, 2);
        EXPECT_EQ(event.bytes, static_cast<double>(8 * n));
        EXPECT_GE(event.begin_ns, last_end) << "it waits for all of the first";
      }
    }
    EXPECT_NEAR(first, static_cast<double>(8 * n), 1e-6) << "all parts together";
    EXPECT_EQ(trace.events().size() > 2, n > 10) << "little work is one part";
  }
}

TEST(Trace, IsJson) {
  Trace trace;
  trace.add({{.program = "p",
              .step = 3,
              .label = "a\"b\\c\n",
              .nodes = "block.\"1\"",
              .phase = 1,
              .thread = 2,
              .begin_ns = 1500,
              .end_ns = 2500,
              .bytes = 4000,
              .flops = 500}});
  EXPECT_EQ(trace.to_json(),
            "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
            "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": \"tenon\"}},\n"
            "{\"ph\": \"M\", \"pid\": 1, \"tid\": 3, \"name\": \"thread_name\", \"args\": {\"name\": \"thread 2\"}},\n"
            "{\"ph\": \"X\", \"pid\": 1, \"tid\": 3, \"ts\": 1.500, \"dur\": 1.000, "
            "\"name\": \"block.\\\"1\\\" (a\\\"b\\\\c\\n)\", \"cat\": \"p\", \"args\": {\"run\": 1, \"step\": 3, "
            "\"operators\": \"a\\\"b\\\\c\\n\", \"nodes\": \"block.\\\"1\\\"\", \"phase\": 1, \"bytes\": 4000, "
            "\"GB/s\": 4.000, \"GFLOP/s\": 0.500}}\n]}\n");
}

/// The arrows of a trace: `from step -> to step` of what the ends lie in.
std::vector<std::string> arrows_of(const Trace& trace) {
  std::vector<std::string> arrows;
  const std::string text = trace.to_json();
  for (size_t at = text.find("\"ph\": \"s\""); at != std::string::npos; at = text.find("\"ph\": \"s\"", at + 1)) {
    arrows.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return arrows;
}

TEST(Trace, ArrowsLeadToTheFirstStretchThatReadsWithinOneRun) {
  Trace trace;
  const auto event = [](int step, int thread, int64_t begin, int64_t end, std::vector<int> reads) {
    return TraceEvent{.program = "p",
                      .step = step,
                      .label = "op",
                      .reads = std::move(reads),
                      .thread = thread,
                      .begin_ns = begin,
                      .end_ns = end};
  };
  // Two threads make step 1, and the one that ends last is where the arrow begins.
  trace.add({event(1, 0, 1000, 3000, {}), event(1, 1, 1000, 5000, {}), event(2, 0, 5000, 6000, {1})});
  // Another run at the same time, whose step 1 has not ended where the first run's step 2 begins.
  trace.add({event(1, 2, 2000, 4000, {}), event(2, 2, 4000, 4500, {1})});
  const std::vector<std::string> arrows = arrows_of(trace);
  ASSERT_EQ(arrows.size(), 2U);
  EXPECT_NE(arrows[0].find("\"id\": 1, \"pid\": 1, \"tid\": 2, \"ts\": 3.000"), std::string::npos) << arrows[0];
  EXPECT_NE(arrows[1].find("\"id\": 2, \"pid\": 1, \"tid\": 3, \"ts\": 3.000"), std::string::npos) << arrows[1];
  EXPECT_NE(trace.to_json().find("{\"ph\": \"f\", \"bp\": \"e\", \"id\": 1, \"pid\": 1, \"tid\": 1, \"ts\": 5.000"),
            std::string::npos);
}

TEST(Trace, KnowsWhatEachStepReads) {
  const Executable executable = traced_program();
  Trace trace;
  executable.run({Array(f32, {10})}, {.trace = &trace});
  executable.run({Array(f32, {10})}, {.trace = &trace});
  const std::vector<TraceEvent> events = trace.events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].reads, std::vector<int>());
  EXPECT_EQ(events[1].reads, std::vector<int>({1}));
  EXPECT_EQ(events[1].run, 1);
  EXPECT_EQ(events[3].run, 2);
  EXPECT_EQ(arrows_of(trace).size(), 2U);
}

TEST(Trace, CollectsSeveralRunsAlsoThoseThatFail) {
  Trace trace;
  const Executable executable = traced_program({.before_step = [&](size_t step) {
    if (step == 1 && trace.events().size() >= 2) {
      throw Error("enough");
    }
  }});
  executable.run({Array(f32, {10})}, {.trace = &trace});
  EXPECT_EQ(trace.events().size(), 2u);
  EXPECT_EQ(error_text([&] { executable.run({Array(f32, {10})}, {.trace = &trace}); }), "enough");
  EXPECT_EQ(trace.events().size(), 3u);
}

}  // namespace
}  // namespace tenon::trace_test
