// What a compile says of its kernels.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/backend.h"
#include "tenon/compile.h"
#include "tenon/nn.h"
#include "tenon/ops.h"

namespace tenon::report_test {
namespace {

/// Constants that no other graph of this process has: code that is there already takes no time.
Graph product_beside_a_map() {
  const Value x = input("x", shape(f32, "row", "inner"));
  const Value w = input("w", shape(f32, "inner", "col"));
  const Value z = input("z", shape(f32, "n"));
  return {{x, w, z}, {{"y", matmul(x, w)}, {"s", exp(z * 0.8417)}}};
}

TEST(CompileReport, HasEveryKernel) {
  CompileReport report;
  const Executable executable = compile(product_beside_a_map(), {.disk_cache = false, .report = &report});
  ASSERT_EQ(report.code_of.size(), static_cast<size_t>(report.kernels));
  EXPECT_EQ(std::ranges::count(report.code_of, true, &KernelReport::has_products), 1);
  const auto map = std::ranges::find(report.code_of, false, &KernelReport::has_products);
  ASSERT_NE(map, report.code_of.end());
  EXPECT_NE(map->name.find("exp"), std::string::npos) << map->name;
  EXPECT_EQ(map->milliseconds > 0, backend::has_native_code());
  compile(product_beside_a_map(), {.disk_cache = false, .report = &report});
  EXPECT_TRUE(std::ranges::all_of(report.code_of, [](const KernelReport& each) { return each.milliseconds == 0; }));
}

}  // namespace
}  // namespace tenon::report_test
