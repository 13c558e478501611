// The programs of all graphs of the kernel-count table, whole models included, are equal when they are read back.
#include "kernel/program/program_bytes.h"

#include <gtest/gtest.h>

#include "compiler/lowered.h"
#include "support/count_graphs.h"

namespace bench::program_bytes_test {
namespace {

void expect_equal_when_read_back(const std::vector<CountGraph>& graphs) {
  for (const CountGraph& each : graphs) {
    tenon::CompileReport report;
    const tenon::compiler::Lowered lowered = tenon::compiler::lower(each.graph, {.native = false}, report);
    for (const tenon::compiler::LoweredSegment& segment : lowered.segments) {
      EXPECT_TRUE(tenon::program_from_bytes(tenon::to_bytes(segment.program)) == segment.program) << each.name;
    }
  }
}

TEST(ProgramBytes, OfCountGraphsAreEqual) { expect_equal_when_read_back(count_graphs()); }
TEST(ProgramBytes, OfProductGraphsAreEqual) { expect_equal_when_read_back(product_graphs()); }
TEST(ProgramBytes, OfRecordedGraphsAreEqual) { expect_equal_when_read_back(tensor_graphs()); }
TEST(SlowProgramBytes, OfModelsAreEqual) { expect_equal_when_read_back(model_graphs()); }
TEST(SlowProgramBytes, OfRecordedModelsAreEqual) { expect_equal_when_read_back(tensor_models()); }

}  // namespace
}  // namespace bench::program_bytes_test
