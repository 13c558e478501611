// Ordering, writing, random and control flow survive being written and read.
#include <gtest/gtest.h>

#include "tenon/control.h"
#include "tenon/indexing.h"
#include "tenon/random.h"
#include "tenon/text.h"

namespace tenon::control_text_test {
namespace {

using Values = std::vector<Value>;

TEST(ControlText, ReadsBackWhatItWrites) {
  const Value x = input("x", shape(f32, "n", 4));
  const Value i = input("i", shape(i64, "k"));
  const Value key = input("key", shape(u64));
  const Value c = input("c", shape(boolean));
  const Value w = relu(x);
  const auto branch =
      if_then_else(c, [&](const Values& v) { return Values{v[0] + w}; }, [](const Values& v) { return v; }, {x});
  const auto looped = loop(Extent::name("k"), {x}, [&](const Value& t, const Values& v) {
    const auto inner = loop(2, {v[0]}, [&](const Value&, const Values& u) { return Values{u[0] * w}; });
    return Values{inner[0] + cast(t, f32)};
  });
  const auto searched = while_loop(
      9, {x}, [&](const Value&, const Values& v) { return WhileStep{lt(reduce_sum(v[0]), 100), {v[0] * 2}}; });
  const ScanStep scanned = scan({reduce_sum(x, {0})}, {x}, [](const Value&, const Values& v, const Values& e) {
    return ScanStep{{v[0] + e[0]}, {v[0]}};
  });
  const auto sorted = sort_together({x, iota(x.shape().with_dtype(i64), 1)}, 1, true);
  const Graph graph({x, i, key, c}, {{"branch", branch[0]},
                                     {"looped", looped[0]},
                                     {"searched", searched[0]},
                                     {"last", scanned.carried[0]},
                                     {"all", scanned.stacked[0]},
                                     {"sorted", sorted[0]},
                                     {"at", sorted[1]},
                                     {"running", cumulative_product(x, 0, true, true)},
                                     {"written", scatter(x, take(x, i), {i}, {.axes = {0}}, "max")},
                                     {"noise", normal(key, key, x.shape())}});
  const std::string text = to_text(graph);
  EXPECT_EQ(parse_graph(text), graph) << text;
}

}  // namespace
}  // namespace tenon::control_text_test
