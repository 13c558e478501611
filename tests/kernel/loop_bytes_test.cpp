#include "kernel/loop/loop_bytes.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/loop_kernels.h"

namespace tenon::loop_bytes_test {
namespace {

class LoopBytes : public testing::TestWithParam<LoopCase> {};

TEST_P(LoopBytes, GiveTheKernelBack) {
  const loops::Kernel& kernel = GetParam().kernel;
  const std::vector<std::byte> bytes = to_bytes(kernel);
  const loops::Kernel read = loops::kernel_from_bytes(bytes);
  EXPECT_EQ(to_string(read), to_string(kernel));
  EXPECT_EQ(to_string(read, true), to_string(kernel, true));
  EXPECT_EQ(runtime_sizes(read), runtime_sizes(kernel));
  EXPECT_EQ(to_bytes(read), bytes);
}

TEST_P(LoopBytes, ThatAreCutAreAnError) {
  const std::vector<std::byte> bytes = to_bytes(GetParam().kernel);
  for (size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_THROW(loops::kernel_from_bytes(std::span(bytes).first(size)), Error) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LoopBytes, testing::ValuesIn(loop_cases()),
                         [](const testing::TestParamInfo<LoopCase>& each) { return each.param.name; });

}  // namespace
}  // namespace tenon::loop_bytes_test
