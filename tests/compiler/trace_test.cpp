// What a trace knows of compiled kernels.
#include "tenon/trace.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tenon/compile.h"
#include "tenon/tenon.h"

namespace tenon::trace_test {
namespace {

TEST(CompiledTrace, CountsTheOperationsOfProducts) {
  const Value x = input("x", shape(f32, "m", 24));
  const Value w = input("w", shape(f32, 24, "n"));
  const Executable executable = compile(Graph({x, w}, {{"y", relu(matmul(x, w)) + 1.0}}), {.disk_cache = false});
  Trace trace;
  executable.run({Array::full(f32, {7, 24}, 1), Array::full(f32, {24, 5}, 1)}, {.threads = 1, .trace = &trace});
  const std::vector<TraceEvent> events = trace.events();
  const double flops = std::accumulate(events.begin(), events.end(), 0.0, [](double sum, const TraceEvent& event) {
    return sum + event.flops.value_or(0);
  });
  EXPECT_EQ(flops, 2.0 * 7 * 24 * 5);
}

}  // namespace
}  // namespace tenon::trace_test
