// Every kind of node, split along each axis of each input, over 2, 3 and 4 ranks, at sizes that do not divide.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/equivalence.h"
#include "support/on_mesh.h"
#include "tenon/text.h"

namespace tenon::mesh::kinds_test {
namespace {

// What stands between `graph main(` and the end; `n` gets the sizes below.
constexpr const char* kGraphs[] = {
    "x: f32[n, 5], y: f32[n, 5]) { return z=add(mul(x, y), exp(x)) }",
    "x: f32[n, 5]) { return a=reduce(x, op=sum, axes=[0]), b=reduce(x, op=max, axes=[1]) }",
    "x: f32[n, 3, 5]) { return a=reduce(x, op=sum, axes=[0, 2]), b=reduce(x, op=product, axes=[1]) }",
    "x: i32[n, 4]) { return a=reduce(x, op=min, axes=[0]), b=reduce(x, op=sum, axes=[0, 1]) }",
    "x: f32[n, 4], y: f32[n, 4]) { return a=reduce(gt(x, y), op=any, axes=[0]), b=reduce(lt(x, y), op=all, "
    "axes=[1]) }",
    "x: f32[n, 5]) { return a=reduce(x, op=argmax, axes=[1]) }",
    "x: f32[n, 6], w: f32[6, 5]) { return z=contract(x, w, lhs_contract=[1], rhs_contract=[0]) }",
    "x: f32[4, n], w: f32[n, 5]) { return z=contract(x, w, lhs_contract=[1], rhs_contract=[0]) }",
    "x: f32[n, 3, 4], w: f32[n, 4, 5]) { return z=contract(x, w, lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], "
    "rhs_contract=[1]) }",
    "x: f32[n, 2, 5, 6], w: f32[3, 2, 2, 2]) { return z=conv(x, w, stride=[1, 1], x_dilation=[1, 1], w_dilation=[1, "
    "1], low=[0, 0], high=[1, 0], groups=1, dtype=f32) }",
    "x: f32[n, 6, 5]) { return z=window(x, op=max, size=[1, 2, 1], stride=[1, 2, 1], dilation=[1, 1, 1], low=[0, 1, "
    "0], high=[0, 0, 0]) }",
    "x: f32[2, 3, n+3], w: f32[4, 3, 3]) { return a=conv(x, w, stride=[2], x_dilation=[1], w_dilation=[1], low=[1], "
    "high=[1], groups=1, dtype=f32), b=conv(x, w, stride=[1], x_dilation=[1], w_dilation=[1], low=[0], high=[0], "
    "groups=1, dtype=f32) }",
    "x: f32[1, 2, n+1, 6], w: f32[2, 1, 2, 3]) { return z=conv(x, w, stride=[1, 3], x_dilation=[1, 1], w_dilation=[2, "
    "1], low=[4, -1], high=[1, 2], groups=2, dtype=f32) }",
    "x: f32[n+4, 3]) { return a=window(x, op=sum, size=[3, 1], stride=[2, 1], dilation=[2, 1], low=[2, 0], high=[1, "
    "0]), b=window(x, op=max, size=[1, 2], stride=[3, 1], dilation=[1, 1], low=[-1, 0], high=[0, 1]) }",
    "x: f32[9, 3]) { return a=window(x, op=min, size=[4, 1], stride=[1, 1], dilation=[1, 1], low=[7, 0], high=[6, 0]), "
    "b=window(x, op=sum, size=[2, 1], stride=[4, 2], dilation=[1, 1], low=[0, 0], high=[-2, 0]) }",
    "x: f32[n, 3, 4]) { return z=transpose(x, axes=[2, 0, 1]) }",
    "x: f32[n, 3, 4]) { return a=reshape(x, to=[3*n, 4]), b=reshape(x, to=[n, 12]), c=reshape(x, to=[12*n]) }",
    "x: f32[12*n]) { return a=reshape(x, to=[n, 12]), b=reshape(x, to=[n, 3, 4]) }",
    "x: f32[6, 8, n]) { return a=reshape(x, to=[48, n]), b=reshape(x, to=[2, 3, 8, n]), c=reshape(x, to=[6, 8*n]) }",
    "x: f32[n, 1, 3]) { return z=broadcast(x, to=[2, n, 4, 3], axes=[1, 2, 3]) }",
    "x: f32[n, 6]) { return a=slice(x, start=[0, 1], size=[n, 2], step=[1, 2]), b=flip(x, axes=[1]), c=flip(x, "
    "axes=[0]) }",
    "x: f32[n, 6]) { return a=pad(x, [0, 1], [0, 2]), b=pad(x, [2, 0], [1, 0]) }",
    "x: f32[n, 6], y: f32[n, 2]) { return z=concat(x, y, axis=1) }",
    "x: f32[n, 6], y: f32[n, 6]) { return z=concat(x, y, axis=0) }",
    "x: f32[9, 4], i: i64[n, 2]) { return z=gather(x, mod(i, 4), axes=[0], x_batch=[], index_batch=[]) }",
    "x: f32[n, 9, 4], i: i64[n, 2]) { return z=gather(x, mod(i, 4), axes=[1], x_batch=[0], index_batch=[0]) }",
    "x: f32[9, 4, 8], i: i64[n, 2], j: i32[n, 2]) { return a=gather(x, sub(mod(i, 9), 4), mod(j, 8), axes=[0, 2], "
    "x_batch=[], index_batch=[]), b=gather(x, mod(i, 4), axes=[1], x_batch=[], index_batch=[]) }",
    "x: f32[n, 9, 4], u: f32[n, 2, 4], i: i64[n, 2]) { return a=scatter(x, u, sub(mod(i, 9), 4), op=set, axes=[1], "
    "x_batch=[0], index_batch=[0]), b=scatter(x, u, mod(i, 9), op=max, axes=[1], x_batch=[0], index_batch=[0]) }",
    "x: f32[9, 4], u: f32[n, 3, 4], i: i64[n, 3]) { return a=scatter(x, u, sub(mod(i, 9), 4), op=add, axes=[0], "
    "x_batch=[], index_batch=[]), b=scatter(x, u, mod(i, 9), op=mul, axes=[0], x_batch=[], index_batch=[]) }",
    "x: f32[9, 4], u: f32[n, 4], i: i64[n]) { return z=scatter(x, u, mod(i, 4), op=add, axes=[0], x_batch=[], "
    "index_batch=[]) }",
    "x: f32[n, 9, 4], u: f32[n, 2, 4], i: i64[n, 2]) { return z=scatter(x, u, mod(i, 4), op=add, axes=[1], "
    "x_batch=[0], index_batch=[0]) }",
    "x: f32[n, 6], u: f32[n, 2]) { return z=update(x, u, path=[slice(start=[0, 1], size=[n, 2], step=[1, 2])]) }",
    "x: f32[n, 6], y: f32[n, 6]) { %0, %1 = sort(x, y, axis=1, descending=false)\n return a=%0, b=%1 }",
    "x: f32[n, 6]) { return a=scan(x, op=sum, axis=1, exclusive=false, reverse=false), b=scan(x, op=max, axis=0, "
    "exclusive=false, reverse=true) }",
    "x: f32[n, 6], y: f32[n]) { %0, %1 = barrier(x, y)\n return a=%0, b=%1 }",
    "x: f32[n, 6]) { return a=add(x, cast(iota(shape=f32[n, 6], axis=0), f32)) }",
    "x: f32[n, 6], c: f32[6]) { return a=softmax(x), b=mul(x, c), m=reduce_mean(x, [0]) }",
};

class EveryKind : public testing::TestWithParam<const char*> {};

TEST_P(EveryKind, EqualsTheWholeAlongEachAxis) {
  const Graph graph = parse_graph(std::string("graph main(") + GetParam());
  for (const int64_t n : {0, 1, 7}) {
    const Bindings bindings{{"n", n}};
    const std::vector<Array> inputs = random_inputs(graph, bindings, 5);
    for (const Value& input : graph.inputs()) {
      for (int axis = 0; axis < input.rank(); ++axis) {
        for (const int ranks : {2, 3, 4}) {
          const auto difference = mesh_difference(graph, fmt::format("m={}", ranks),
                                                  fmt::format("{}.{}=m", input.name(), axis), inputs, bindings);
          EXPECT_EQ(difference.value_or(""), "");
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind, testing::ValuesIn(kGraphs));

}  // namespace
}  // namespace tenon::mesh::kinds_test
