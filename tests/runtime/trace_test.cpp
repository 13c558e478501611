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
            "{\"ph\": \"X\", \"pid\": 1, \"tid\": 3, \"ts\": 1.500, \"dur\": 1.000, \"name\": \"a\\\"b\\\\c\\n\", "
            "\"cat\": \"p\", \"args\": {\"step\": 3, \"phase\": 1, \"bytes\": 4000, \"GB/s\": 4.000, "
            "\"GFLOP/s\": 0.500}}\n]}\n");
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
