// Matrix products at sizes around every edge of a block, of every dtype.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <span>

#include "support/arrays.h"
#include "support/compiled.h"
#include "support/small_graph.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::product_shapes_test {
namespace {

/// Blocks are 12, 14 or 16 rows in registers and 384 in a tile, ...
constexpr int64_t kRows[] = {0,  1,  2,  3,  4,  5,  7,  8,  11, 12,  13,  14,  15,
                             16, 17, 23, 24, 25, 28, 29, 32, 33, 383, 384, 385, 389};
/// ... vectors of 4 to 16 columns, panels of up to 64, and 256 in a tile, ...
constexpr int64_t kColumns[] = {0,  1,  2,  3,  4,  7,  8,  9,  15,  16,  17,  31,  32,  33,
                                47, 48, 49, 63, 64, 65, 96, 97, 255, 256, 257, 263, 512, 513};
/// ... and 512 steps of k.
constexpr int64_t kDepths[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 63, 64, 65, 127, 128, 511, 512, 513, 521, 1025};

int64_t any_of(std::span<const int64_t> list, std::mt19937_64& rng) { return list[rng() % list.size()]; }

/// Every edge of each size at least once, with others that keep the product small.
std::vector<Bindings> edges(uint64_t seed, size_t count, int64_t most) {
  std::mt19937_64 rng(seed);
  std::vector<Bindings> result;
  const auto add = [&](int64_t rows, int64_t columns, int64_t depth) {
    if (rows * columns * depth <= most) {
      result.push_back({{"m", rows}, {"n", columns}, {"k", depth}});
    }
  };
  for (const int64_t rows : kRows) {
    add(rows, 33, 17);
  }
  for (const int64_t columns : kColumns) {
    add(13, columns, 9);
  }
  for (const int64_t depth : kDepths) {
    add(17, 18, depth);
  }
  while (result.size() < count) {
    add(any_of(kRows, rng), any_of(kColumns, rng), any_of(kDepths, rng));
  }
  return result;
}

constexpr const char* kPlain = "y = matmul(a, b)";
constexpr const char* kFused = "y = relu(add(matmul(abs(a), b), c))";

TEST(ProductShapes, EveryEdge) {
  for (const char* statement : {kPlain, kFused}) {
    const Graph graph = make({"edges", "a: f32[m, k], b: f32[k, n], c: f32[n]", statement});
    EXPECT_TRUE(matches_every_way(graph, {.of_largest = 1e-5, .at = edges(1, 130, 400'000)})) << statement;
  }
}

TEST(ProductShapes, SeveralTiles) {
  const std::vector<Bindings> large{{{"m", 385}, {"n", 257}, {"k", 33}},
                                    {{"m", 769}, {"n", 31}, {"k", 65}},
                                    {{"m", 13}, {"n", 1025}, {"k", 64}},
                                    {{"m", 40}, {"n", 300}, {"k", 1537}}};
  for (const char* statement : {kPlain, kFused}) {
    const Graph graph = make({"tiles", "a: f32[m, k], b: f32[k, n], c: f32[n]", statement});
    EXPECT_TRUE(matches_every_way(graph, {.of_largest = 1e-5, .at = large})) << statement;
  }
}

/// Sums run over k in order wherever blocks begin, so sizes that are known give the bits of others. (A size that is
/// known to be 1 makes no product but a sum.)
TEST(ProductShapes, KnownSizesGiveTheBitsOfUnknownOnes) {
  for (const bool native : {true, false}) {
    const CompileOptions options{.native = native, .disk_cache = false};
    for (const char* statement : {kPlain, kFused}) {
      const Graph any = make({"any", "a: f32[m, k], b: f32[k, n], c: f32[n]", statement});
      const Executable compiled = compile(any, options);
      for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{2, 2, 2},
                                                                       {2, 65, 9},
                                                                       {13, 2, 64},
                                                                       {12, 32, 513},
                                                                       {17, 257, 31},
                                                                       {385, 33, 7},
                                                                       {5, 7, 1030},
                                                                       {0, 3, 3},
                                                                       {3, 3, 0}}) {
        const Graph known =
            make({"known", fmt::format("a: f32[{0}, {2}], b: f32[{2}, {1}], c: f32[{1}]", m, n, k), statement});
        std::mt19937_64 rng(3);
        const std::vector<Array> inputs{random_array(f32, {m, k}, rng), random_array(f32, {k, n}, rng),
                                        random_array(f32, {n}, rng)};
        EXPECT_TRUE(same(compile(known, options).run(inputs)[0], compiled.run(inputs)[0]))
            << statement << " at " << m << ", " << n << ", " << k;
      }
    }
  }
}

struct TypedCase {
  const char* name;
  const char* inputs;
  const char* statements;
  double of_largest;
};

class ProductTypesCompiled : public testing::TestWithParam<TypedCase> {};

/// Over all of i8 and u8, where random inputs of whole numbers are positions otherwise.
std::vector<Array> wide_inputs(const Graph& graph, const Bindings& bindings) {
  std::mt19937_64 rng(9);
  std::vector<Array> inputs;
  for (const Value& in : graph.inputs()) {
    const bool whole = is_integer(in.dtype());
    inputs.push_back(random_array(in.dtype(), resolve(in.shape(), bindings).dims(), rng,
                                  in.dtype() == u8 ? 0
                                  : whole          ? -128
                                                   : -2,
                                  in.dtype() == u8 ? 255.99
                                  : whole          ? 127.99
                                                   : 2));
  }
  return inputs;
}

TEST_P(ProductTypesCompiled, EqualTheInterpreter) {
  const TypedCase& c = GetParam();
  const Graph graph = make({c.name, c.inputs, c.statements});
  EXPECT_TRUE(matches_every_way(graph, {.relative = c.of_largest,
                                        .absolute = 0,
                                        .of_largest = c.of_largest,
                                        .at = edges(2, 90, 200'000),
                                        .inputs = wide_inputs}));
}

INSTANTIATE_TEST_SUITE_P(
    All, ProductTypesCompiled,
    testing::Values(TypedCase{"f64", "a: f64[m, k], b: f64[k, n]", "y = matmul(a, b)", 1e-13},
                    TypedCase{"f16", "a: f16[m, k], b: f16[k, n]", "y = matmul(a, b)", 2e-3},
                    TypedCase{"bf16", "a: bf16[m, k], b: bf16[k, n]", "y = matmul(a, b)", 1e-2},
                    TypedCase{"f16_in_f32", "a: f16[m, k], b: f16[k, n]",
                              "y = contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=f32)", 1e-5},
                    TypedCase{"bf16_in_f32", "a: bf16[m, k], b: bf16[k, n]",
                              "y = contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=f32)", 1e-5},
                    TypedCase{"i8", "a: i8[m, k], b: i8[k, n]",
                              "y = contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=i32)", 0},
                    TypedCase{"u8", "a: u8[m, k], b: u8[k, n]",
                              "y = contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=i32)", 0},
                    TypedCase{"i32", "a: i32[m, k], b: i32[k, n]", "y = matmul(a, b)", 0},
                    TypedCase{"bf16_weights", "a: f32[m, k], b: bf16[k, n]", "y = matmul(a, cast(b, f32))", 1e-5},
                    TypedCase{"u8_by_i8", "a: u8[m, k], b: i8[k, n]", "y = matmul(cast(a, i32), cast(b, i32))", 0},
                    TypedCase{"i8_scaled", "a: i8[m, k], b: i8[k, n], s: f32[n]",
                              "y = mul(cast(contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=i32), f32), s)",
                              1e-5}),
    [](const auto& each) { return std::string(each.param.name); });

/// One row of bytes by a matrix, or a matrix by one column.
class RowsOfBytes : public testing::TestWithParam<TypedCase> {};

TEST_P(RowsOfBytes, EqualTheInterpreter) {
  const TypedCase& c = GetParam();
  std::vector<Bindings> at;
  for (const int64_t columns : kColumns) {
    at.push_back({{"n", columns}, {"k", 17}});
  }
  for (const int64_t depth : kDepths) {
    at.push_back({{"n", 37}, {"k", depth}});
  }
  EXPECT_TRUE(matches_every_way(
      make({c.name, c.inputs, c.statements}),
      {.relative = c.of_largest, .absolute = 0, .of_largest = c.of_largest, .at = at, .inputs = wide_inputs}));
}

INSTANTIATE_TEST_SUITE_P(
    All, RowsOfBytes,
    testing::Values(TypedCase{"u8_by_i8", "a: u8[1, k], b: i8[k, n]",
                              "y = contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=i32)", 0},
                    TypedCase{"i8_by_i8", "a: i8[1, k], b: i8[k, n]",
                              "y = contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=i32)", 0},
                    TypedCase{"scaled", "a: u8[k], b: u8[n, k], s: f32[n]",
                              "y = mul(cast(contract(a, b, lhs_contract=[0], rhs_contract=[1], dtype=i32), f32), s)",
                              1e-5},
                    TypedCase{"column", "a: i8[n, k], b: u8[k]",
                              "y = contract(a, b, lhs_contract=[1], rhs_contract=[0], dtype=i32)", 0}),
    [](const auto& each) { return std::string(each.param.name); });

/// The weights of a recurrent layer, in panels.
TEST(RowsOfWeights, EqualTheInterpreter) {
  std::mt19937_64 rng(3);
  for (const Dtype dtype : {i8, u8}) {
    for (const int64_t depth : {1, 3, 4, 63, 64, 520}) {
      const Value a = input("a", Shape(u8, {1, depth}));
      const Value w = constant(random_array(dtype, {depth, 131}, rng, dtype == i8 ? -128 : 0, dtype == i8 ? 127 : 255));
      const Graph graph({a}, {{"y", contract(a, w, {.lhs_contract = {1}, .rhs_contract = {0}}, i32)}});
      EXPECT_TRUE(matches_every_way(graph, {.relative = 0, .absolute = 0, .inputs = wide_inputs}));
    }
  }
}

}  // namespace
}  // namespace tenon::product_shapes_test
