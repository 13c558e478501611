// Exported graphs are valid models, and what comes back from them computes the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "onnx/export_support.h"
#include "support/arrays.h"
#include "support/error_text.h"
#include "support/model_cases.h"
#include "support/random_graph.h"
#include "tenon/onnx_export.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using ::testing::TestWithParam;

struct TextCase {
  const char* name;
  const char* text;
  Bindings bindings;
};

void expect_same(const Graph& graph, const std::vector<Array>& inputs, const Graph& again, double tolerance) {
  const std::vector<Array> wanted = interpret(graph, inputs);
  const std::vector<Array> got = interpret(again, inputs);
  ASSERT_EQ(wanted.size(), got.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(wanted[i].dtype(), got[i].dtype()) << "output " << i;
    ASSERT_EQ(wanted[i].dims(), got[i].dims()) << "output " << i;
    for (int64_t k = 0; k < wanted[i].size(); ++k) {
      const double w = wanted[i].at(k);
      const double g = got[i].at(k);
      if (w != g && !(std::isnan(w) && std::isnan(g))) {
        ASSERT_NEAR(g, w, tolerance * (1 + std::fabs(w))) << "output " << i << ", element " << k;
      }
    }
  }
}

/// Every kind, and every way of writing it.
const TextCase kCases[] = {
    {"map", "graph f(x: f32[n, 3], y: f32[n, 3]) { return z=add(mul(x, y), tanh(x)) }", {{"n", 4}}},
    {"map_without_operator",
     "graph f(x: f32[n]) { return a=expm1(x), b=log1p(square(x)), c=atan2(x, 0.5), d=gelu(x), "
     "e=silu(x), f=hypot(x, 2), g=cbrt(x), h=erf(x), i=mish(x), j=clamp(x, -0.5, 0.25), k=rsqrt(abs(x)) }",
     {{"n", 9}}},
    {"integers",
     "graph f(x: i32[n], y: i32[n]) { return a=div(x, y), b=rem(x, y), c=mod(x, y), d=floor_div(x, y), "
     "e=max(x, y), f=neg(x), g=lt(x, y) }",
     {{"n", 20}}},
    {"small_integers",
     "graph f(x: i8[n], y: u8[n]) { return a=relu(x), b=reduce_sum(x), c=reduce_max(y), d=add(y, y) }",
     {{"n", 7}}},
    {"logic",
     "graph f(x: f32[n], y: f32[n]) { a = lt(x, y)\n b = isnan(x)\n return c=logical_or(a, logical_not(b)), "
     "d=select(a, x, y), e=reduce_any(a), f=reduce_all(a) }",
     {{"n", 6}}},
    {"halves",
     "graph f(x: f16[n, 4], y: bf16[n, 4]) { return a=softmax(x), b=silu(y), c=sin(y), d=matmul(x, "
     "transpose(x, [1, 0])) }",
     {{"n", 3}}},
    {"cast",
     "graph f(x: f32[n]) { return a=cast(x, dtype=i32), b=cast(x, dtype=bool), c=cast(x, dtype=f16) }",
     {{"n", 5}}},
    {"shifts", "graph f(x: u32[n], y: u32[n]) { return a=shl(x, y), b=shr(x, y) }", {{"n", 12}}},
    {"broadcast",
     "graph f(x: f32[n, 1, 3], y: f32[m, 1]) { return z=add(x, y), w=broadcast(y, [m, 1], axes=[0, 1]) }",
     {{"n", 2}, {"m", 3}}},
    {"softmax", "graph f(x: f32[row, col]) { return y=softmax(x) }", {{"row", 3}, {"col", 5}}},
    {"reduce",
     "graph f(x: f32[a, b, c]) { return s=reduce_sum(x, axes=[0, 2]), m=reduce_max(x, axes=[1]), "
     "p=reduce_prod(x), k=argmax(x, axis=1), l=argmin(x, axis=0), v=reduce_mean(x, axes=[1], keep=true) }",
     {{"a", 2}, {"b", 3}, {"c", 4}}},
    {"iota",
     "graph f(x: f32[n]) { return a=iota(i64[n, 3], axis=0), b=iota(f32[n], axis=0, start=n, step=2), "
     "c=iota(i32[2, n+1], axis=1), d=iota(i64[], axis=0, start=n*n) }",
     {{"n", 4}}},
    {"matmul", "graph f(x: f32[n, k], y: f32[k, 5]) { return z=matmul(x, y) }", {{"n", 2}, {"k", 3}}},
    {"matmul_batched",
     "graph f(x: f32[b, h, n, k], y: f32[b, h, k, m]) { return z=matmul(x, y) }",
     {{"b", 2}, {"h", 2}, {"n", 3}, {"k", 4}, {"m", 5}}},
    {"contract",
     "graph f(x: f32[a, b, c], y: f32[c, d, a]) { return z=contract(x, y, lhs_contract=[0, 2], "
     "rhs_contract=[2, 0]), w=contract(x, y, lhs_batch=[2], rhs_batch=[0]) }",
     {{"a", 2}, {"b", 3}, {"c", 4}, {"d", 2}}},
    {"dot",
     "graph f(x: f32[n], y: f32[n]) { return z=contract(x, y, lhs_contract=[0], rhs_contract=[0]) }",
     {{"n", 6}}},
    {"contract_integers",
     "graph f(x: i8[n, 3], y: i8[3, m]) { return z=contract(x, y, lhs_contract=[1], "
     "rhs_contract=[0], dtype=i32) }",
     {{"n", 2}, {"m", 4}}},
    {"reshape",
     "graph f(x: f32[b, s, 8]) { return a=reshape(x, [b, s, 2, 4]), c=reshape(x, [8*b*s]), "
     "d=reshape(x, [b*s, 8]) }",
     {{"b", 2}, {"s", 3}}},
    {"reshape_empty",
     "graph f(x: f32[b, s, 8]) { return a=reshape(x, [b, s, 2, 4]), c=reshape(x, [s, b*8]) }",
     {{"b", 0}, {"s", 3}}},
    {"slice",
     "graph f(x: f32[n+4, 7]) { return a=slice(x, [2, 1], [n, 3]), b=slice(x, [n, 0], [2, 3], [1, 3]), "
     "c=flip(x, axes=[0, 1]) }",
     {{"n", 3}}},
    {"pad",
     "graph f(x: f32[n, 3]) { return a=pad(x, low=[1, 0], high=[n, 2]), b=pad(x, low=[1, 1], high=[1, 1], "
     "mode=edge), c=pad(x, low=[1, 2], high=[2, 0], mode=reflect), d=pad(x, low=[2, 1], high=[1, 2], mode=wrap) }",
     {{"n", 3}}},
    {"concat", "graph f(x: f32[n, 2], y: f32[m, 2]) { return z=concat(x, y, x, axis=0) }", {{"n", 2}, {"m", 3}}},
    {"sort",
     "graph f(x: f32[n, m], y: i64[n, m]) { a, b = sort(x, y, axis=1)\n c, d = sort(x, y, axis=0, "
     "descending=true)\n return p=a, q=b, r=c, s=d }",
     {{"n", 3}, {"m", 4}}},
    {"scan",
     "graph f(x: f32[n, m]) { return a=scan(x, axis=0), b=scan(x, op=max, axis=1), c=scan(x, op=product, axis=0, "
     "exclusive=true), d=scan(x, op=min, axis=1, reverse=true), e=scan(x, axis=1, exclusive=true, reverse=true) }",
     {{"n", 3}, {"m", 4}}},
    {"max_pool", "graph f(x: f32[n, 2, h, w]) { return y=max_pool(x, [2, 2]) }", {{"n", 1}, {"h", 6}, {"w", 4}}},
    {"windows",
     "graph f(x: f32[n, m], k: i32[n, m]) { return a=window(x, op=sum, size=[1, 3], stride=[1, 2], "
     "dilation=[1, 1], low=[0, 1], high=[0, 1]), b=window(k, op=product, size=[2, 1], stride=[1, 1], dilation=[1, 1], "
     "low=[0, 0], high=[1, 0]), c=window(x, op=min, size=[2, 2], stride=[1, 1], dilation=[1, 1], low=[0, 0], high=[0, "
     "0]), "
     "d=window(x, op=max, size=[1, 2], stride=[1, 1], dilation=[1, 2], low=[0, 0], high=[0, 0]) }",
     {{"n", 3}, {"m", 5}}},
    {"conv",
     "graph f(x: f32[n, 4, h, w], k: f32[6, 2, 3, 3]) { return y=conv(x, k, stride=[2, 1], x_dilation=[1, 1], "
     "w_dilation=[1, 2], low=[1, 2], high=[1, 2], groups=2) }",
     {{"n", 2}, {"h", 6}, {"w", 7}}},
    {"conv_dilated",
     "graph f(x: f32[n, 2, h], k: f32[3, 2, 2]) { return y=conv(x, k, stride=[1], x_dilation=[3], "
     "w_dilation=[1], low=[1], high=[-1], groups=1) }",
     {{"n", 2}, {"h", 4}}},
    {"gather",
     "graph f(x: f32[7, m], i: i64[n]) { return a=gather(x, i, axes=[0]), b=gather(transpose(x, [1, 0]), i, "
     "axes=[1]) }",
     {{"n", 3}, {"m", 2}}},
    {"barrier", "graph f(x: f32[n]) { a, b = barrier(x, exp(x))\n return y=add(a, b) }", {{"n", 3}}},
    {"identity", "graph f(x: f32[n]) { return y=x, z=x }", {{"n", 3}}},
    {"expressions",
     "graph f(x: f32[16*rows, cols+2]) { return y=reshape(x, [16, rows, cols+2]), z=slice(x, [0, 1], [rows, "
     "cols]) }",
     {{"rows", 2}, {"cols", 3}}},
    {"minima",
     "graph f(x: f32[n], y: f32[m]) { return a=slice(x, [0], [min(n, m)]), b=slice(y, [0], [m floordiv 2]) }",
     {{"n", 3}, {"m", 5}}},
};

class ExportText : public TestWithParam<TextCase> {};

TEST_P(ExportText, ComesBackTheSame) {
  const Graph graph = parse_graph(GetParam().text);
  std::vector<Array> inputs;
  std::mt19937_64 rng(7);
  for (const Value& value : graph.inputs()) {
    const double low = is_unsigned_integer(value.dtype()) || value.dtype() == i64 ? 0 : -5;
    inputs.push_back(random_array(value.dtype(), resolve(value.shape(), GetParam().bindings).dims(), rng, low, 6));
  }
  const double tolerance = std::string_view(GetParam().name) == "halves" ? 2e-2 : 1e-5;
  expect_same(graph, inputs, round_trip(graph), tolerance);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExportText, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

class ExportModel : public TestWithParam<ModelCase> {};

TEST_P(ExportModel, ComesBackTheSame) {
  const Model model = GetParam().build();
  const Graph graph = with_weights(model);
  const std::string bytes = export_onnx_bytes(graph);
  ASSERT_EQ(onnx_complaint(bytes), "");
}

INSTANTIATE_TEST_SUITE_P(Models, ExportModel, ::testing::ValuesIn(model_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Export, RandomGraphsComeBackTheSame) {
  constexpr uint64_t count = 300;
  uint64_t exported = 0;
  for (uint64_t seed = 0; seed < count; ++seed) {
    const RandomGraph random = random_graph(seed);
    Graph again;
    try {
      again = round_trip(random.graph);
    } catch (const Error& error) {
      // What has no form in opset 17 says so.
      ASSERT_NE(std::string(error.what()).find("ONNX"), std::string::npos) << "seed " << seed << ": " << error.what();
      ASSERT_EQ(std::string(error.what()).find("not valid"), std::string::npos)
          << "seed " << seed << ": " << error.what();
      continue;
    }
    ++exported;
  }
  EXPECT_GT(exported, count * 3 / 4);
}

}  // namespace
}  // namespace tenon
