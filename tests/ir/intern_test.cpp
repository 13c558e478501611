// Equal subgraphs are one node; what differs in anything is not.
#include <thread>

#include "ir/node.h"
#include "ops/make.h"
#include "support/arrays.h"
#include "tenon/ops.h"

namespace tenon::intern_test {
namespace {

TEST(Intern, EqualOperationsAreOneNode) {
  const Value x = input("x", shape(f32, "batch", 8));
  const Value y = input("y", shape(f32, "batch", 8));
  EXPECT_EQ(add(x, y), add(x, y));
  EXPECT_EQ(exp(x * 2.0), exp(x * 2.0));
  EXPECT_EQ(reduce_sum(x, {0, 1}), reduce_sum(x, {1, 0}));
  EXPECT_EQ(constant(Array::from<float>({2}, {1, 2})), constant(Array::from<float>({2}, {1, 2})));
}

TEST(Intern, DifferencesKeepNodesApart) {
  const Value x = input("x", shape(f32, "batch", "batch"));
  const Value y = input("y", shape(f32, "batch", "batch"));
  EXPECT_FALSE(sub(x, y) == sub(y, x));                                          // operand order
  EXPECT_FALSE(reduce_sum(x, {0}) == reduce_sum(x, {1}));                        // attribute
  EXPECT_FALSE(reduce_sum(x, {0}) == reduce_max(x, {0}));                        // operation
  EXPECT_FALSE(cast(x, f64) == cast(x, f16));                                    // dtype
  EXPECT_FALSE(reshape(x, {"batch*batch"}) == reshape(x, {"all=batch*batch"}));  // a name in the shape
  EXPECT_FALSE(input("x", shape(f32, 2)) == input("x", shape(f32, 2)));          // inputs are never the same
  EXPECT_FALSE(barrier({x})[0] == barrier({x})[0]);                              // barriers never merge
  EXPECT_FALSE(constant(Array::scalar(f32, 0.0)) == constant(Array::scalar(f32, -0.0)));
  EXPECT_FALSE(constant(Array::scalar(f32, 0.0)) == constant(Array::scalar(i32, 0)));
}

TEST(Intern, LargeConstantsCompareByIdentity) {
  const Array big(f32, {4096});
  const Array other(f32, {4096});
  EXPECT_EQ(constant(big), constant(big));
  EXPECT_FALSE(constant(big) == constant(other));
}

TEST(Intern, PlacesAreSideData) {
  const Value x = input("x", shape(f32, 4));
  Value a;
  Value b;
  {
    const Place place("first");
    a = exp(x);
  }
  {
    const Place place("second");
    b = exp(x);
  }
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.node().place, "first");
}

TEST(Intern, NodesDieWithTheirLastHolder) {
  const size_t before = live_node_count();
  {
    const Value x = input("x", shape(f32, "n"));
    const Value y = tanh(exp(x) + 1.0);
    EXPECT_GT(live_node_count(), before);
  }
  EXPECT_EQ(live_node_count(), before);
}

TEST(Intern, AChainOf100000NodesLivesAndDies) {
  const size_t before = live_node_count();
  {
    Value x = input("x", shape(f32, "n"));
    const Value in = x;
    for (int i = 0; i < 100'000; ++i) {
      x = i % 2 == 0 ? exp(x) : tanh(x);
    }
    const Graph graph({in}, {{"y", x}});
    EXPECT_EQ(graph.nodes().size(), 100'001u);
    const Graph same({in}, {{"y", x}});
    EXPECT_TRUE(graph == same);
  }
  EXPECT_EQ(live_node_count(), before);
}

TEST(Intern, ManyThreadsBuildTheSameNodes) {
  const Value x = input("x", shape(f32, "n"));
  const size_t before = live_node_count();
  std::vector<Value> results(4);
  {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < results.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int round = 0; round < 200; ++round) {
          Value y = x;
          for (int i = 0; i < 10; ++i) {
            y = exp(y) * 2.0;
          }
          results[t] = y;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  for (const Value& result : results) {
    EXPECT_EQ(result, results[0]);
  }
  results.clear();
  EXPECT_EQ(live_node_count(), before);
}

}  // namespace
}  // namespace tenon::intern_test
