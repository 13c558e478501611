// What is not folded: what would be large, slow or wrong.
#include "passes/fold_constants.h"

#include <algorithm>

#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::passes::fold_constants_test {
namespace {

Value counted(std::vector<int64_t> dims) {
  Array array(f32, std::move(dims));
  auto values = array.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 7);
  }
  return constant(array);
}

bool folds(const Value& value) {
  const Value x = input("x", shape(f32, 1));
  const Graph graph({x}, {{"y", value}, {"x", x}});
  return fold_constants(graph).outputs()[0].value.node().as<Constant>() != nullptr;
}

TEST(FoldConstants, IsBoundedInBytes) {
  EXPECT_TRUE(folds(exp(counted({512, 512}))));
  EXPECT_TRUE(folds(exp(counted({512, 513}))));
  EXPECT_FALSE(folds(exp(counted({2048, 2049}))));
  EXPECT_TRUE(folds(counted({32, 1}) + counted({1, 32})));
  EXPECT_FALSE(folds(counted({64, 1}) + counted({1, 64})));  // 128 numbers would become 4096
  EXPECT_FALSE(folds(broadcast_to(counted({8}), {2, 8})));
}

TEST(FoldConstants, StoresWhatIsDearToComputeAgain) {
  const Value rows = counted({64, 1}), columns = counted({1, 64});
  EXPECT_TRUE(folds(sin(rows + columns)));
  EXPECT_TRUE(folds(sin(iota(shape(f32, 64, 64), 0))));
  EXPECT_TRUE(folds(sin(iota(shape(f32, 64, 64), 0)) * 2.0F + rows));  // and what is cheap behind it
  EXPECT_TRUE(folds(reduce_sum(rows + columns, {1})));
  EXPECT_FALSE(folds(sin(iota(shape(f32, "n", 64), 1))));
  Value many = rows + columns;  // each cheap, but all together are not
  for (int i = 0; i < 12; ++i) {
    many = max(many * columns, rows);
  }
  EXPECT_TRUE(folds(many));
}

TEST(FoldConstants, KeepsWhatIsNarrowerThanItsValue) {
  const Value bytes = constant(Array::from<double>({3}, {0, 1, 2}).cast(i8));
  const Value wide = cast(constant(Array(i8, {1024, 1024})), f32);
  EXPECT_TRUE(folds(cast(bytes, f32)));
  EXPECT_FALSE(folds(wide));  // a product reads it in a quarter of the bytes
}

TEST(FoldConstants, KeepsOneConstantInThePlaceOfTwo) {
  const Value packed = constant(Array(u8, {2048, 1024}));
  EXPECT_TRUE(folds(bit_and(packed, 15)));
  const Graph both({}, {{"low", bit_and(packed, 15)}, {"high", shr(packed, 4)}});
  for (const Output& output : fold_constants(both).outputs()) {
    EXPECT_EQ(output.value.node().as<Constant>(), nullptr) << output.name;
  }
}

TEST(FoldConstants, SeesAConstantUnderOtherAxesAsTheSameMemory) {
  const Value large = counted({2048, 4096});
  const Graph graph({}, {{"y", reshape(large, {4096, 2048})}});
  const Value folded = fold_constants(graph).outputs()[0].value;
  ASSERT_NE(folded.node().as<Constant>(), nullptr);
  EXPECT_EQ(folded.node().as<Constant>()->value.data(), large.node().as<Constant>()->value.data());
}

TEST(FoldConstants, HasABudgetForAllTogether) {
  std::vector<Output> outputs;
  for (int i = 0; i < 5; ++i) {
    outputs.push_back({std::to_string(i), neg(counted({2048, 2048}))});  // 16 MiB each
  }
  const Graph folded = fold_constants(Graph({}, outputs));
  const auto stored = std::ranges::count_if(
      folded.outputs(), [](const Output& output) { return output.value.node().as<Constant>() != nullptr; });
  EXPECT_EQ(stored, 4);
}

TEST(FoldConstants, IsBoundedInWork) {
  EXPECT_TRUE(folds(matmul(counted({64, 64}), counted({64, 64}))));
  EXPECT_FALSE(folds(matmul(counted({32, 1 << 15}), counted({1 << 15, 32}))));
}

TEST(FoldConstants, LeavesErrorsToRunTime) {
  const Value x = constant(Array::from<float>({2}, {1, 2}));
  const Value picked = take(x, constant(Array::from<int64_t>({1}, {5})));
  const Graph graph({}, {{"y", picked}});
  const Graph folded = fold_constants(graph);
  EXPECT_EQ(graph, folded);
  EXPECT_NE(error_text([&] { interpret(folded, {}); }), "no error");
}

TEST(FoldConstants, KeepsEveryDtype) {
  for (const Dtype dtype : all_dtypes()) {
    const Value x = constant(Array::from<double>({3}, {0, 1, 2}).cast(dtype));
    const Graph graph({}, {{"y", flip(select(eq(x, x), x, x), {0})}});
    const Graph folded = fold_constants(graph);
    ASSERT_NE(folded.outputs()[0].value.node().as<Constant>(), nullptr);
    EXPECT_TRUE(same(interpret(folded, {})[0], interpret(graph, {})[0]));
  }
}

}  // namespace
}  // namespace tenon::passes::fold_constants_test
