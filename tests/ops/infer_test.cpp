// Shapes on symbolic extents, and errors that name the axis.
#include "ir/node.h"
#include "ir/unify_names.h"
#include "support/arrays.h"
#include "tenon/ops.h"

namespace tenon::infer_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
std::string shape_of(const Value& value) { return value.shape().to_string(); }

TEST(Infer, ProductsKeepEveryFreeAxis) {
  const Value x = in("x", "f32[batch, seq, h]");
  EXPECT_EQ(shape_of(matmul(x, in("w", "f32[h, o]"))), "f32[batch, seq, o]");
  EXPECT_EQ(shape_of(matmul(x, in("v", "f32[h]"))), "f32[batch, seq]");
  EXPECT_EQ(shape_of(matmul(x, in("y", "f32[batch, h, k]"))), "f32[batch, seq, k]");
  EXPECT_EQ(shape_of(matmul(in("a", "f32[heads, 1, q, d]"), in("b", "f32[batch, d, k]"))), "f32[heads, batch, q, k]");
  EXPECT_EQ(shape_of(matmul(in("a", "f32[q, d]"), in("b", "f32[batch, d, k]"))), "f32[batch, q, k]");
  EXPECT_EQ(
      shape_of(contract(in("a", "i8[m, k]"), in("b", "i8[n, k]"), {.lhs_contract = {1}, .rhs_contract = {1}}, i32)),
      "i32[m, n]");
}

TEST(Infer, BroadcastingOfNamedAxes) {
  const Value x = in("x", "f32[batch, seq]");
  EXPECT_EQ(shape_of(x + in("b", "f32[seq]")), "f32[batch, seq]");
  EXPECT_EQ(shape_of(x + in("b", "f32[batch, 1]")), "f32[batch, seq]");
  EXPECT_EQ(shape_of(x + in("b", "f32[8, 1, 1]")), "f32[8, batch, seq]");
  EXPECT_EQ(shape_of(x + in("y", "f32[-1, -1]")), "f32[batch, seq]");      // an anonymous axis adopts, or is 1
  EXPECT_EQ(shape_of(in("n", "f32[n]") + in("s", "f32[32]")), "f32[32]");  // n is 1 or 32
  EXPECT_EQ(shape_of(lt(x, 3)), "bool[batch, seq]");
}

TEST(Infer, ViewsOnDynamicAxes) {
  const Value x = in("x", "f32[batch, seq, 12]");
  EXPECT_EQ(shape_of(reshape(x, {"batch", "seq", 3, -1})), "f32[batch, seq, 3, 4]");
  EXPECT_EQ(shape_of(reshape(x, {-1, 12})), "f32[batch*seq, 12]");
  EXPECT_EQ(shape_of(reshape(x, {"batch", -1})), "f32[batch, 12*seq]");
  EXPECT_EQ(shape_of(reshape(x, {-1, 8})), "f32[batch*seq+(batch*seq) floordiv 2, 8]");
  const Value nothing = reshape(in("e", "f32[batch, seq, 0]"), {0});
  EXPECT_TRUE(nothing.node().constraints.empty()) << "no elements are no elements, however many rows of them";
  EXPECT_EQ(shape_of(transpose(x, {0, 2, 1})), "f32[batch, 12, seq]");
  EXPECT_EQ(shape_of(slice_axis(x, 1, 1)), "f32[batch, max(seq-1, 0), 12]");
  EXPECT_EQ(shape_of(slice_axis(x, 2, 1, Extent(-1), 2)), "f32[batch, seq, 5]");
  EXPECT_EQ(shape_of(slice_axis(x, 2, -1, {}, -1)), "f32[batch, seq, 12]");
  EXPECT_EQ(shape_of(pad(x, {0, 1, 0}, {0, 2, 0})), "f32[batch, seq+3, 12]");
  EXPECT_EQ(shape_of(pad(x, {0, 0, -2}, {0, 0, 1})), "f32[batch, seq, 11]");
  EXPECT_EQ(shape_of(flip(x, {-1})), "f32[batch, seq, 12]");
  EXPECT_EQ(shape_of(concat({x, x}, 1)), "f32[batch, 2*seq, 12]");
  EXPECT_EQ(shape_of(concat({x, in("y", "f32[batch, past, 12]")}, 1)), "f32[batch, past+seq, 12]");
  EXPECT_EQ(shape_of(take(x, in("i", "i64[k, 2]"), 1)), "f32[batch, k, 2, 12]");
  EXPECT_EQ(shape_of(reduce_sum(x, {1}, true)), "f32[batch, 1, 12]");
  EXPECT_EQ(shape_of(argmax(x, 1)), "i64[batch, 12]");
  EXPECT_EQ(shape_of(expand_dims(x, {0, -1})), "f32[1, batch, seq, 12, 1]");
}

TEST(Infer, NumbersBesideIntegersAreHeldExactly) {
  const Value i = in("i", "i32[n]");
  EXPECT_EQ(shape_of(i + int64_t{1} + 2u), "i32[n]");
  EXPECT_NE(error_text([&] { mul(i, 0.5); }).find("mul: 0.5 is no i32"), std::string::npos);
  EXPECT_NE(error_text([&] { lt(in("u", "u8[n]"), -1); }).find("-1 is no u8"), std::string::npos);
  EXPECT_NE(error_text([&] { add(in("u", "u8[n]"), 300); }), "no error");
  EXPECT_NE(error_text([&] { add(in("l", "i64[n]"), (int64_t{1} << 53) + 1); }), "no error");
}

TEST(Infer, NamesThatUnifyAreOneAxisWithACheck) {
  const Value a = in("a", "f32[batch, 4]");
  const Value b = in("b", "f32[time, 4]");
  const UnifyNames lenient;
  const Value c = a + b;
  EXPECT_EQ(shape_of(c), "f32[batch, 4]");
  ASSERT_EQ(c.node().constraints.size(), 1u);
  EXPECT_EQ(c.node().constraints[0].needed_by, "add");
}

TEST(Infer, ErrorsNameTheOperationTheAxisAndThePlace) {
  const Place place("/layers.0/attn/MatMul_1");
  const Value q = in("q", "f32[batch, query, depth=64]");
  const Value k = in("k", "f32[batch, depth=80, key]");
  EXPECT_EQ(error_text([&] { matmul(q, k); }),
            "contract: axis `depth` is 64 on the left, 80 on the right\n"
            "  `q`: f32[batch, query, depth=64]\n"
            "  `k`: f32[batch, depth=80, key]\n"
            "  at node \"/layers.0/attn/MatMul_1\"");
}

}  // namespace
}  // namespace tenon::infer_test
