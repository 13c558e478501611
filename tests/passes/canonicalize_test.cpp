// What the pass does to inputs, which a text test with shared inputs cannot show.
#include "passes/rewriting/canonicalize.h"

#include "ir/unify_names.h"
#include "shape/constraint_set.h"
#include "support/arrays.h"
#include "support/equivalence.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon::passes::canonicalize_test {
namespace {

TEST(Canonicalize, NamesThatMustBeEqualBecomeOne) {
  const Value a = input("a", shape(f32, "n", 2));
  const Value b = input("b", shape(f32, "m", 2));
  const UnifyNames lenient;
  const Graph before({a, b}, {{"c", exp(a + b)}});
  const Graph after = canonicalize(before);
  EXPECT_EQ(after.inputs()[0].shape(), after.inputs()[1].shape());
  EXPECT_TRUE(after.constraints().added().empty()) << to_text(after);
  EXPECT_TRUE(equivalent(before, after));
  EXPECT_NE(error_text([&] { interpret(after, {Array(f32, {3, 2}), Array(f32, {4, 2})}); }), "no error");
}

TEST(Canonicalize, AStaticNamedAxisReplacesItsName) {
  const Value h = input("h", shape(f32, "batch", "hidden"));
  const Value w = input("w", shape(f32, "hidden=6", 2));
  const Graph after = canonicalize(Graph({h, w}, {{"y", matmul(exp(h), w)}}));
  EXPECT_EQ(after.inputs()[0].shape().to_string(), "f32[batch, hidden=6]");
  EXPECT_NE(error_text([&] { interpret(after, {Array(f32, {1, 5}), Array(f32, {6, 2})}); }), "no error");
}

TEST(Canonicalize, BodiesAreRenamedToo) {
  const Value a = input("a", shape(f32, "n"));
  const Value b = input("b", shape(f32, "m"));
  const UnifyNames lenient;
  const Value e = composite("pairs", {b}, [](const std::vector<Value>& in) { return reshape(in[0], {2, -1}); });
  const Graph before({a, b}, {{"s", a + b}, {"e", e}});
  const Graph after = canonicalize(before);
  EXPECT_EQ(to_text(after).find("[n"), std::string::npos) << to_text(after);
  EXPECT_TRUE(equivalent(before, after));
}

}  // namespace
}  // namespace tenon::passes::canonicalize_test
