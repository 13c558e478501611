// Models of newer opsets than the one that is written when nobody says.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "onnx/export/round_trip.h"
#include "onnx/proto.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"
#include "tenon/onnx_export.h"
#include "tenon/text.h"

namespace tenon::export_opset_test {
namespace {

std::string written(const std::string& text, int opset) {
  return export_onnx_bytes(parse_graph(text), {.opset = opset});
}

bool has_operator(const std::string& bytes, const std::string& name) {
  const std::vector<std::string> all = onnx_operators(bytes);
  return std::ranges::find(all, name) != all.end();
}

/// What comes back computes the same.
void expect_round_trip(const std::string& text, const std::vector<Array>& inputs, int opset) {
  const Graph graph = parse_graph(text);
  const Graph again = import_onnx_bytes(export_onnx_bytes(graph, {.opset = opset}));
  const std::vector<Array> wanted = interpret(graph, inputs);
  const std::vector<Array> got = interpret(again, inputs);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(close(got[i], wanted[i], 1e-6, 1e-6)) << "output " << i << ", opset " << opset;
  }
}

constexpr int kOpsets[] = {17, 18, 19, 20, 21, 22, 23, 24};
constexpr const char* kBits =
    "graph f(x: i32[n], y: i32[n]) { return a=bit_and(x, y), b=bit_or(x, y), c=bit_xor(x, y), d=bit_not(x) }";
constexpr const char* kExtrema =
    "graph f(x: f32[5], y: f32[n], i: i64[n]) { return a=scatter(x, y, i, op=max, axes=[0]), b=scatter(x, y, i, "
    "op=min, axes=[0]) }";

TEST(ExportOpset, IsWrittenWithTheVersionOfItsRelease) {
  constexpr int64_t ir[] = {8, 8, 9, 9, 10, 10, 11, 12};
  for (size_t i = 0; i < std::size(kOpsets); ++i) {
    proto::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(written("graph f(x: f32[n]) { return y=exp(x) }", kOpsets[i])));
    EXPECT_EQ(model.opset_import(0).version(), kOpsets[i]);
    EXPECT_EQ(model.ir_version(), ir[i]);
  }
}

TEST(ExportOpset, BitsOfIntegersHaveAFormSince18) {
  EXPECT_EQ(error_text([] { written(kBits, 17); }),
            "`bit_and` of i32 has no ONNX form in opset 17; opset 18 has one\n  node `bit_and` of graph `f`");
  const std::vector<Array> inputs = {Array::from<int32_t>({4}, {-1, 12, 7, 1 << 30}),
                                     Array::from<int32_t>({4}, {5, -8, 3, -(1 << 30)})};
  for (const int opset : {18, 24}) {
    expect_round_trip(kBits, inputs, opset);
    EXPECT_TRUE(has_operator(written(kBits, opset), "BitwiseXor"));
  }
}

/// What no opset that can be written has is not offered.
TEST(ExportOpset, BitsOfFloatsHaveNoForm) {
  EXPECT_EQ(error_text([] { written("graph f(x: f32[n]) { return y=reinterpret(x) }", 24); }),
            "`reinterpret` has no ONNX form in opset 24; opset 26 is the first with one, 24 the newest written\n"
            "  node `reinterpret` of graph `f`");
}

TEST(ExportOpset, ScattersByExtremaHaveAFormSince18) {
  EXPECT_NE(error_text([] { written(kExtrema, 17); }).find("a scatter by max has no ONNX form in opset 17; opset 18"),
            std::string::npos);
  const std::vector<Array> inputs = {Array::from<float>({5}, {0, 1, 2, 3, 4}), Array::from<float>({3}, {9, -9, 2.5F}),
                                     Array::from<int64_t>({3}, {1, 1, 4})};
  expect_round_trip(kExtrema, inputs, 18);
}

TEST(ExportOpset, RowsAreOperatorsWhereTheOpsetHasThem) {
  const std::string text = "graph f(x: f32[n], h: bf16[n]) { return y=mish(x), z=mish(h) }";
  EXPECT_FALSE(has_operator(written(text, 17), "Mish"));
  EXPECT_TRUE(has_operator(written(text, 18), "Mish"));
  std::mt19937_64 rng(3);
  for (const int opset : kOpsets) {
    const std::string plain = "graph f(x: f32[n]) { return y=mish(x) }";
    expect_round_trip(plain, {random_array(f32, {9}, rng)}, opset);
  }
}

/// Axes of reductions became operands in 18.
TEST(ExportOpset, ReductionsPoolsAndProductsOfEveryOpset) {
  const std::string text =
      "graph f(x: f32[2, 3, 8], w: f32[4, 3, 3]) {\n"
      "  c = conv(x, w)\n"
      "  return a=reduce_max(x, axes=[1]), b=reduce_min(x), d=reduce_product(x, axes=[0, 2]), e=reduce_sum(c, "
      "axes=[1]), "
      "g=max_pool(x, [2]), h=softmax(c), i=cumulative_sum(x, 1), j=argmax(x, axis=2), k=reduce_mean(x, axes=[2], "
      "keep=true), "
      "l=sort(x), m=pad(x, low=[0, 1, 0], high=[0, 0, 2]), o=resize(x, [2], [16]) }";
  std::mt19937_64 rng(4);
  const std::vector<Array> inputs = {random_array(f32, {2, 3, 8}, rng), random_array(f32, {4, 3, 3}, rng)};
  for (const int opset : kOpsets) {
    expect_round_trip(text, inputs, opset);
  }
}

TEST(ExportOpset, OthersAreRefused) {
  for (const int opset : {-1, 0, 16, 25, 1000}) {
    EXPECT_EQ(error_text([&] { written("graph f(x: f32[n]) { return y=x }", opset); }),
              "opset " + std::to_string(opset) + " is not written; 17 to 24 are");
  }
}

/// The exponential of a softmax is 0 below -80 here; there it is a number that nobody sees.
TEST(ExportOpset, TheExponentialOfASoftmaxIsExp) {
  const std::string bytes = written("graph f(x: f32[n]) { return y=exp_normal(x) }", 17);
  EXPECT_EQ(onnx_operators(bytes), (std::vector<std::string>{"Exp", "Identity"}));
  const Array x = Array::from<float>({4}, {-200, -81, -79, 1});
  const Array y = interpret(import_onnx_bytes(bytes), {x})[0];
  EXPECT_TRUE(close(y, interpret(parse_graph("graph f(x: f32[n]) { return y=exp_normal(x) }"), {x})[0], 1e-6, 2e-35));
}

}  // namespace
}  // namespace tenon::export_opset_test
