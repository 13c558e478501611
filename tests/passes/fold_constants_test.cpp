// What is not folded: what would be large, slow or wrong.
#include "passes/fold_constants.h"

#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::passes {
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
  EXPECT_FALSE(folds(exp(counted({512, 513}))));
  EXPECT_TRUE(folds(counted({32, 1}) + counted({1, 32})));
  EXPECT_FALSE(folds(counted({64, 1}) + counted({1, 64})));  // 128 numbers would become 4096
  EXPECT_FALSE(folds(broadcast_to(counted({8}), {2, 8})));
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
}  // namespace tenon::passes
