#include "kernel/program/program.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tenon::program_test
