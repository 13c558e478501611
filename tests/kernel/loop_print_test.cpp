#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kernel/loop/loop.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"

namespace tenon::loop_print_test {
namespace {

TEST(LoopPrint, Softmax) {
  EXPECT_EQ(to_string(softmax_case().kernel), R"(kernel softmax
  axes    r: rows   c: cols vector
  buffers b0 in f32[cols*rows]   b1 out f32[cols*rows]   b2 scratch f64[3]   b3 scratch f32[cols]
  phase grid(r)
    loop c begins a0
      v0 = load b0[cols*r + c]
      a0 max= v0
    v1 = result a0
    v2 = constant f64 1
    b2[2] = v2
    loop c begins a1
      v3 = load b0[cols*r + c]
      v4 = sub v3, v1
      v5 = exp v4
      b3[c] = v5
      a1 sum= v5
    v6 = result a1
    loop c
      v7 = load b3[c]
      v8 = div v7, v6
      b1[cols*r + c] = v8
)");
}

TEST(LoopPrint, CanonicalLeavesNamesOut) {
  EXPECT_EQ(to_string(pad_case().kernel), R"(kernel pad
  axes    r: rows+2   c: cols+5 vector
  buffers b0 in f32[cols*rows]   b1 out f32[cols*rows+2*cols+5*rows+10]
  phase grid(r)
    loop c
      v0 = load b0[cols*r + c - cols-2] if 0 <= r - 1 < rows and 0 <= c - 2 < cols
      b1[(cols+5)*r + c] = v0
)");
  EXPECT_EQ(to_string(pad_case().kernel, true), R"(kernel
  axes    x0: s0   x1: s1 vector
  buffers b0 in f32[]   b1 out f32[]
  phase grid(x0)
    loop x1
      v0 = load b0[s3*x0 + x1 + s2] if 0 <= x0 - 1 < s4 and 0 <= x1 - 2 < s3
      b1[s1*x0 + x1] = v0
)");
}

TEST(LoopPrint, TilesLookupsAndPositions) {
  EXPECT_EQ(to_string(elementwise_case().kernel).substr(0, 91),
            "kernel elementwise\n  axes    t: (cols+99) floordiv 100   i: 100 tile t of cols vector\n  buf");
  const std::string gather = to_string(gather_elements_case(false).kernel);
  EXPECT_NE(gather.find("  site 0  position {position} of {size}\n"), std::string::npos) << gather;
  EXPECT_NE(gather.find("load b1[3*v0 + 2*v3] if 0 <= c - 1 < cols-1 with v0 < rows or site 0 with v3 < 2 or site 0"),
            std::string::npos)
      << gather;
  const std::string arg = to_string(arg_rows_case(ReduceOp::argmax).kernel);
  EXPECT_NE(arg.find("a0 argmax= v0 at v1"), std::string::npos) << arg;
  EXPECT_NE(arg.find("v1 = position c"), std::string::npos) << arg;
  loops::Kernel largest = arg_rows_case(ReduceOp::argmax).kernel;
  largest.accumulators[0].op = ReduceOp::max;
  largest.accumulators[0].position = -1;
  largest.accumulators[0].may_skip_nan = true;
  EXPECT_NE(to_string(largest).find("a0 max= v0 but NaN\n"), std::string::npos) << to_string(largest);
}

/// One store of a constant.
loops::Kernel constant_kernel(const std::string& kernel, const std::string& axis, const Extent& size, double literal) {
  LoopBuilder k(kernel);
  const int c = k.vector_axis(axis, size);
  const int y = k.output(f32, size);
  k.phase({}, [&] { k.loop(c, [&] { k.store(y, affine({{c, 1}}), k.constant(f32, literal)); }); });
  return k.kernel();
}

TEST(LoopPrint, CanonicalTextIsTheSameForTheSameCode) {
  const auto text = [](const loops::Kernel& kernel) { return to_string(kernel, true); };
  const std::string one = text(constant_kernel("one", "i", Extent::name("batch") * 3, 0.1));
  EXPECT_EQ(one, text(constant_kernel("two", "j", Extent::name("seq"), 0.1)));
  EXPECT_NE(one, text(constant_kernel("one", "i", 3, 0.1)));
  EXPECT_NE(one, text(constant_kernel("one", "i", Extent::name("batch") * 3, std::nextafter(0.1, 1))));
  EXPECT_NE(text(constant_kernel("one", "i", 3, 0.0)), text(constant_kernel("one", "i", 3, -0.0)));
  EXPECT_NE(one.find("constant f32 0x1.999999999999ap-4"), std::string::npos) << one;
}

TEST(LoopPrint, CanonicalTextsOfDifferentCodeDiffer) {
  std::map<std::string, std::string> seen;
  for (const LoopCase& each : loop_cases()) {
    if (!each.name.ends_with("_failing")) {  // these differ in their inputs alone
      const auto [other, fresh] = seen.emplace(to_string(each.kernel, true), each.name);
      EXPECT_TRUE(fresh) << each.name << " and " << other->second;
    }
  }
}

TEST(LoopPrint, AxesOfOneNameAreToldApart) {
  LoopBuilder k("twice");
  const int a = k.axis("i", 2);
  const int b = k.axis("i", 3);
  const int y = k.output(f32, 6);
  k.phase({a, b}, [&] { k.store(y, affine({{a, 3}, {b, 1}}), k.constant(f32, 1)); });
  EXPECT_NE(to_string(k.kernel()).find("phase grid(x0, x1)"), std::string::npos);
}

TEST(LoopSizes, InTheOrderOfTheText) {
  const Extent rows = Extent::name("rows");
  const Extent cols = Extent::name("cols");
  EXPECT_EQ(runtime_sizes(pad_case().kernel), (std::vector<Extent>{rows + 2, cols + 5, -cols - 2, cols, rows}));
  EXPECT_EQ(runtime_sizes(constant_kernel("k", "i", 3, 1)), std::vector<Extent>{});
}

TEST(LoopSizes, GridAndScratch) {
  const loops::Kernel softmax = softmax_case().kernel;
  EXPECT_EQ(grid_size(softmax, softmax.phases[0]), Extent::name("rows"));
  EXPECT_EQ(grid_size(softmax, {}), Extent(1));
  const auto all_17 = [](std::string_view) { return 17; };
  EXPECT_EQ(scratch_bytes(softmax).evaluate(all_17), 64 + 128);  // 3 * 8 and 17 * 4 bytes, each rounded up
  EXPECT_EQ(scratch_bytes(pad_case().kernel), Extent(0));
}

}  // namespace
}  // namespace tenon::loop_print_test
