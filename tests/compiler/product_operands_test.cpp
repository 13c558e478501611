// Products of operands that lie in memory in any way: transposed, strided, in batches, over several axes, constant.
#include <gtest/gtest.h>

#include "support/compiled.h"
#include "support/small_graph.h"

namespace tenon::product_operands_test {
namespace {

class ProductOperands : public testing::TestWithParam<SmallGraph> {};

TEST_P(ProductOperands, EqualTheInterpreter) {
  const Graph graph = make(GetParam());
  EXPECT_TRUE(matches_every_way(graph, {.bindings = 7, .of_largest = 1e-5}));
}

TEST_P(ProductOperands, EqualTheInterpreterBeyondATile) {
  const Graph graph = make(GetParam());
  EXPECT_TRUE(matches_every_way(graph, {.of_largest = 1e-5, .at = beyond_a_tile(graph)}));
}

std::string name_of(const testing::TestParamInfo<SmallGraph>& each) { return each.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Strides, ProductOperands,
    testing::Values(
        SmallGraph{"left_transposed", "a: f32[k, m], b: f32[k, n]", "y = matmul(transpose(a), b)"},
        SmallGraph{"right_transposed", "a: f32[m, k], b: f32[n, k]", "y = matmul(a, transpose(b))"},
        SmallGraph{"both_transposed", "a: f32[k, m], b: f32[n, k]", "y = matmul(transpose(a), transpose(b))"},
        SmallGraph{"result_transposed", "a: f32[m, k], b: f32[k, n]", "y = transpose(matmul(a, b))"},
        SmallGraph{"left_by_itself", "a: f32[m, k]", "y = matmul(a, transpose(a))"},
        SmallGraph{"square_of_itself", "a: f32[m, m]", "y = matmul(a, a)"},
        SmallGraph{"left_columns", "a: f32[m, 50], b: f32[19, n]", "y = matmul(slice_axis(a, 1, 5, 24), b)"},
        SmallGraph{"every_second_column", "a: f32[m, 40], b: f32[20, n]", "y = matmul(slice_axis(a, 1, 0, 40, 2), b)"},
        SmallGraph{"every_third_row", "a: f32[m, 10], b: f32[30, n]", "y = matmul(a, slice_axis(b, 0, 1, 30, 3))"},
        SmallGraph{"every_second_result", "a: f32[m, 10], b: f32[10, 70]", "y = matmul(a, slice_axis(b, 1, 0, 70, 2))"},
        SmallGraph{"backwards", "a: f32[m, k], b: f32[k, n]", "y = matmul(flip(a, [1]), flip(b, [0, 1]))"},
        SmallGraph{"part_of_result", "a: f32[m, 9], b: f32[9, 40]", "y = slice_axis(matmul(a, b), 1, 3, 37, 2)"},
        SmallGraph{"repeated_rows", "a: f32[k], b: f32[k, n]", "y = matmul(broadcast_to(a, [20, k]), b)"},
        SmallGraph{"one_row", "a: f32[1, k], b: f32[k, n]", "y = matmul(a, b)"},
        SmallGraph{"one_column", "a: f32[m, k], b: f32[k, 1]", "y = matmul(a, b)"},
        SmallGraph{"vector_left", "a: f32[k], b: f32[k, n]", "y = matmul(a, b)"},
        SmallGraph{"vector_right", "a: f32[m, k], b: f32[k]", "y = matmul(a, b)"},
        SmallGraph{"inner", "a: f32[k], b: f32[k]", "y = matmul(a, b)"},
        SmallGraph{"outer", "a: f32[m, 1], b: f32[1, n]", "y = matmul(a, b)"},
        SmallGraph{"known", "a: f32[33, 70], b: f32[70, 41]", "y = matmul(a, b)"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Batches, ProductOperands,
    testing::Values(
        SmallGraph{"batch", "a: f32[p, m, k], b: f32[p, k, n]", "y = matmul(a, b)"},
        SmallGraph{"two_batches", "a: f32[p, q, m, k], b: f32[p, q, k, n]", "y = matmul(a, b)"},
        SmallGraph{"one_right_for_all", "a: f32[p, m, k], b: f32[k, n]", "y = matmul(a, b)"},
        SmallGraph{"one_left_for_all", "a: f32[m, k], b: f32[p, k, n]", "y = matmul(a, b)"},
        SmallGraph{"outer_right", "a: f32[p, q, m, k], b: f32[q, k, n]", "y = matmul(a, b)"},
        SmallGraph{"crossed", "a: f32[p, 1, m, k], b: f32[1, q, k, n]", "y = matmul(a, b)"},
        SmallGraph{"inner_batch", "a: f32[m, p, k], b: f32[k, p, n]",
                   "y = contract(a, b, lhs_batch=[1], rhs_batch=[1], lhs_contract=[2], rhs_contract=[0])"},
        SmallGraph{"last_batch", "a: f32[m, k, p], b: f32[k, n, p]",
                   "y = contract(a, b, lhs_batch=[2], rhs_batch=[2], lhs_contract=[1], rhs_contract=[0])"},
        SmallGraph{"heads", "x: f32[batch, seq, 24], z: f32[batch, seq, 24]",
                   "q = transpose(reshape(x, [batch, seq, 4, 6]), [0, 2, 1, 3]);"
                   "k = transpose(reshape(z, [batch, seq, 4, 6]), [0, 2, 3, 1]); y = matmul(q, k)"},
        SmallGraph{"vectors_of_batches", "a: f32[p, k], b: f32[p, k, n]",
                   "y = contract(a, b, lhs_batch=[0], rhs_batch=[0], lhs_contract=[1], rhs_contract=[1])"},
        SmallGraph{"three_factors", "a: f32[m, 5], b: f32[5, 6], c: f32[6, n]", "y = matmul(matmul(a, b), c)"},
        SmallGraph{"sum_of_two", "a: f32[m, k], b: f32[k, n], c: f32[m, l], d: f32[l, n]",
                   "y = add(matmul(a, b), matmul(c, d))"},
        SmallGraph{"product_of_two", "a: f32[m, k], b: f32[k, n], c: f32[m, l], d: f32[l, n]",
                   "y = mul(matmul(a, b), matmul(c, d))"},
        SmallGraph{"sum_over_batches", "a: f32[p, m, k], b: f32[p, k, n]", "y = reduce_sum(matmul(a, b), [0])"},
        SmallGraph{"largest_over_batches", "a: f32[p, m, k], b: f32[p, k, n]", "y = reduce_max(matmul(a, b), [0])"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    SeveralAxes, ProductOperands,
    testing::Values(SmallGraph{"two_contracted", "a: f32[m, k, l], b: f32[k, l, n]",
                               "y = contract(a, b, lhs_contract=[1, 2], rhs_contract=[0, 1])"},
                    SmallGraph{"two_crossed", "a: f32[m, k, l], b: f32[l, k, n]",
                               "y = contract(a, b, lhs_contract=[1, 2], rhs_contract=[1, 0])"},
                    SmallGraph{"first_and_last", "a: f32[k, m, l], b: f32[n, k, l]",
                               "y = contract(a, b, lhs_contract=[0, 2], rhs_contract=[1, 2])"},
                    SmallGraph{"three_contracted", "a: f32[2, 3, m, 5], b: f32[3, 5, n, 2]",
                               "y = contract(a, b, lhs_contract=[0, 1, 3], rhs_contract=[3, 0, 1])"},
                    SmallGraph{"many_free", "a: f32[m, p, k], b: f32[k, n, q]",
                               "y = contract(a, b, lhs_contract=[2], rhs_contract=[0])"},
                    SmallGraph{"many_free_moved", "a: f32[m, p, k], b: f32[k, n, q]",
                               "y = transpose(contract(a, b, lhs_contract=[2], rhs_contract=[0]), [2, 0, 3, 1])"},
                    SmallGraph{"all_contracted", "a: f32[k, l], b: f32[l, k]",
                               "y = contract(a, b, lhs_contract=[0, 1], rhs_contract=[1, 0])"},
                    SmallGraph{"none_contracted", "a: f32[m], b: f32[n]", "y = contract(a, b)"}),
    name_of);

/// One product whose result is wanted in two orders of axes of one size: what is a side of the one is rows and columns
/// of the other.
INSTANTIATE_TEST_SUITE_P(
    Orders, ProductOperands,
    testing::Values(
        SmallGraph{"with_its_transpose", "x: f32[p, p, 5], v: f32[5, p]", "y1 = matmul(x, v); y2 = transpose(y1)"},
        SmallGraph{"turned", "x: f32[p, p, 5], v: f32[5, p]", "y1 = matmul(x, v); y2 = transpose(y1, [2, 0, 1])"},
        SmallGraph{"turned_on", "x: f32[p, p, 5], v: f32[5, p]", "y1 = matmul(x, v); y2 = transpose(y1, [1, 2, 0])"},
        SmallGraph{"plus_its_transpose", "x: f32[p, p, 5], v: f32[5, p]", "z = matmul(x, v); y = add(z, transpose(z))"},
        SmallGraph{"sums_with_its_transpose", "x: f32[p, p, 5], v: f32[5, p]",
                   "z = matmul(x, v); y = reduce_sum(add(z, transpose(z)), [2])"},
        SmallGraph{"two_softmaxes", "x: f32[p, p, 5], v: f32[5, p]",
                   "z = matmul(x, v); y1 = softmax(z); y2 = softmax(transpose(z))"},
        SmallGraph{"two_einsums", "x: f32[p, p, 7], v: f32[7, p]",
                   "y1 = matmul(x, v); y2 = einsum(x, v, \"abc,cd->dba\")"},
        SmallGraph{"four_axes", "x: f32[p, p, p, 5], v: f32[5, p]", "y1 = matmul(x, v); y2 = transpose(y1)"},
        SmallGraph{"channels_first_and_last", "x: f32[2, 3, 17, 17], v: f32[17, 3, 3, 3]",
                   "z = conv(x, v, low=[1, 1], high=[1, 1]); y1 = relu(z); y2 = transpose(z, [0, 2, 3, 1])"},
        SmallGraph{"channels_first_and_last_pointwise", "x: f64[3, 2, 17, 17], v: f64[17, 2, 1, 1]",
                   "z = conv(x, v); y1 = relu(z); y2 = transpose(z, [0, 2, 3, 1])"},
        SmallGraph{"channels_of_any_number", "x: f32[2, 3, p, p], v: f32[p, 3, 1, 1]",
                   "z = conv(x, v); y1 = relu(z); y2 = transpose(z, [0, 2, 3, 1])"}),
    name_of);

/// The products of elements, which a product sums, are wanted too.
INSTANTIATE_TEST_SUITE_P(
    Terms, ProductOperands,
    testing::Values(SmallGraph{"and_its_terms", "a: f32[m, k], b: f32[k, n]",
                               "y1 = matmul(a, b); y2 = mul(expand_dims(a, [2]), expand_dims(b, [0]))"},
                    SmallGraph{"terms_and_their_sum", "a: f32[13, 8], b: f32[8, 16]",
                               "y1 = mul(expand_dims(a, [2]), expand_dims(b, [0])); y2 = reduce_sum(y1, [1])"},
                    SmallGraph{"maps_of_terms", "a: f64[13, 8], b: f64[8, 16]",
                               "z = mul(expand_dims(a, [2]), expand_dims(b, [0])); y1 = exp(neg(square(z)));"
                               "y2 = reduce_sum(z, [1]); y3 = reduce_max(z, [1])"},
                    SmallGraph{"terms_by_einsum", "a: bf16[8, 13], b: bf16[8, 16]",
                               "y1 = einsum(a, b, \"bd,bt->dt\"); y2 = einsum(a, b, \"bd,bt->bdt\")"}),
    name_of);

/// Inputs that begin with w are constants, which are laid out in panels where the code wants them so.
INSTANTIATE_TEST_SUITE_P(
    Constants, ProductOperands,
    testing::Values(
        SmallGraph{"weights", "x: f32[m, 24], w: f32[24, 64]", "y = matmul(x, w)"},
        SmallGraph{"odd_weights", "x: f32[m, 23], w: f32[23, 67]", "y = matmul(x, w)"},
        SmallGraph{"narrow_weights", "x: f32[m, 9], w: f32[9, 3]", "y = matmul(x, w)"},
        SmallGraph{"one_column_weights", "x: f32[m, 9], w: f32[9, 1]", "y = matmul(x, w)"},
        SmallGraph{"wide_weights", "x: f32[m, 5], w: f32[5, 777]", "y = matmul(x, w)"},
        SmallGraph{"deep_weights", "x: f32[m, 1100], w: f32[1100, 70]", "y = matmul(abs(x), w)"},
        SmallGraph{"deep_plain_weights", "x: f32[m, 2049], w: f32[2049, 33]", "y = matmul(x, w)"},
        SmallGraph{"transposed_weights", "x: f32[m, 24], w: f32[65, 24]", "y = matmul(x, transpose(w))"},
        SmallGraph{"weights_left", "x: f32[24, n], w: f32[65, 24]", "y = matmul(w, x)"},
        SmallGraph{"weights_with_bias", "x: f32[b, s, 24], w: f32[24, 65], w2: f32[65]",
                   "y = gelu(add(matmul(x, w), w2))"},
        SmallGraph{"shared_by_two", "x: f32[m, 24], z: f32[m, 24], w: f32[24, 65]",
                   "y = add(matmul(x, w), relu(matmul(z, w)))"},
        SmallGraph{"shared_by_two_kernels", "x: f32[m, 24], z: f32[n, 24], w: f32[24, 65]",
                   "y = matmul(x, w); y2 = matmul(z, w)"},
        SmallGraph{"applied_twice", "x: f32[m, 33], w: f32[33, 33]", "y = matmul(relu(matmul(x, w)), w)"},
        SmallGraph{"both_ways", "x: f32[m, 24], z: f32[m, 65], w: f32[24, 65]",
                   "y = matmul(x, w); y2 = matmul(z, transpose(w))"},
        SmallGraph{"also_read", "x: f32[m, 24], i: i64[1], w: f32[24, 65]", "y = add(matmul(x, w), take(w, i))"},
        SmallGraph{"also_given", "x: f32[m, 24], w: f32[24, 65]", "y = matmul(x, w); y2 = mul(w, 2)"},
        SmallGraph{"changed_weights", "x: f32[m, 24], s: f32[65], w: f32[24, 65]", "y = matmul(x, mul(w, s))"},
        SmallGraph{"part_of_weights", "x: f32[m, 24], w: f32[60, 100]", "y = matmul(x, slice(w, [7, 11], [24, 65]))"},
        SmallGraph{"two_parts_of_weights", "x: f32[m, 24], w: f32[24, 130]",
                   "y = mul(matmul(x, slice_axis(w, 1, 0, 65)), matmul(x, slice_axis(w, 1, 65, 130)))"},
        SmallGraph{"backward_weights", "x: f32[m, 24], w: f32[24, 65]", "y = matmul(x, flip(w, [0, 1]))"},
        SmallGraph{"batched_weights", "x: f32[4, m, 24], w: f32[4, 24, 65]", "y = matmul(x, w)"},
        SmallGraph{"split_weights", "x: f32[m, 4, 6], w: f32[4, 6, 65]",
                   "y = contract(x, w, lhs_contract=[1, 2], rhs_contract=[0, 1])"},
        SmallGraph{"weights_of_heads", "x: f32[m, 24], w: f32[24, 5, 13]",
                   "y = contract(x, w, lhs_contract=[1], rhs_contract=[0])"},
        SmallGraph{"half_weights", "x: f32[m, 24], w: bf16[24, 65]", "y = matmul(x, cast(w, f32))"},
        SmallGraph{"byte_weights", "x: f32[m, 24], s: f32[65], w: i8[24, 65]", "y = matmul(x, mul(cast(w, f32), s))"},
        SmallGraph{"two_constants", "x: f32[m], w: f32[24, 65], w2: f32[65, 7]",
                   "y = add(matmul(w, w2), reduce_sum(x))"},
        SmallGraph{"no_depth", "x: f32[m, 0], w: f32[0, 65]", "y = matmul(x, w)"},
        SmallGraph{"no_columns", "x: f32[m, 5], w: f32[5, 0]", "y = matmul(x, w)"}),
    name_of);

/// Operands that some of the loops of their own axes do not move: they are counted, repeated or of size 1.
INSTANTIATE_TEST_SUITE_P(
    Unmoved, ProductOperands,
    testing::Values(
        SmallGraph{"counted_by_weights", "m: f32[m], w: f32[8, 40]",
                   "y = matmul(iota(f32[m, 8], axis=1), w); y2 = matmul(iota(f32[m, 8], axis=0), w)"},
        SmallGraph{"row_by_weights", "x: f32[8], m: f32[m], w: f32[8, 40]",
                   "y = matmul(broadcast(x, to=[m, 8], axes=[1]), w)"},
        SmallGraph{"rows_by_weights", "x: f32[5, 8], m: f32[m], w: f32[8, 40]",
                   "y = relu(matmul(broadcast(x, to=[m, 5, 8], axes=[1, 2]), w))"},
        SmallGraph{"row_and_bias_by_weights", "x: f32[8], m: f32[m], w: f32[8, 40]",
                   "y = add(matmul(broadcast(tanh(x), to=[m, 8], axes=[1]), w), reshape(m, [m, 1]))"},
        SmallGraph{"bytes_of_a_row", "x: i8[8], m: i32[m], z: i8[8, 40]",
                   "y = matmul(cast(broadcast(x, to=[m, 8], axes=[1]), i32), cast(z, i32))"},
        SmallGraph{"bytes_of_a_row_by_weights", "x: u8[8], m: i32[m], w: i8[8, 40]",
                   "y = matmul(cast(broadcast(x, to=[m, 8], axes=[1]), i32), cast(w, i32))"},
        SmallGraph{"repeated_both", "x: f32[m, k], z: f32[k, n], b: f32[b]",
                   "y = matmul(broadcast(x, to=[b, m, k], axes=[1, 2]), broadcast(z, to=[b, k, n], axes=[1, 2]))"},
        SmallGraph{"repeated_crosswise", "x: f32[b, k], z: f32[k, n], m: f32[m]",
                   "y = matmul(broadcast(x, to=[b, m, k], axes=[0, 2]), broadcast(z, to=[b, k, n], axes=[1, 2]))"},
        SmallGraph{"repeated_in_depth", "x: f32[m, 1], z: f32[k, n]",
                   "y = matmul(broadcast(x, to=[m, k], axes=[0, 1]), z)"},
        SmallGraph{"counted_and_given", "m: f32[m], w: f32[8, 40]",
                   "i = iota(f32[m, 8], axis=1); y = matmul(i, w); y2 = i; y3 = transpose(i)"},
        SmallGraph{"for_one_and_many", "x: u8[8], m: i32[m], w: i8[8, 40], z: i8[m, 8, 40]",
                   "i = cast(broadcast(x, to=[m, 8], axes=[1]), i32); y = matmul(i, cast(w, i32)); "
                   "y2 = matmul(reshape(i, [m, 1, 8]), cast(z, i32))"},
        SmallGraph{"a_number", "x: f32[1, 1], w: f32[1, 40]",
                   "y = matmul(exp(x), w); y2 = matmul(w, reshape(w, [40, 1]))"}),
    name_of);

/// Every width around a panel.
TEST(ProductConstants, EveryWidth) {
  for (const int64_t columns :
       {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 127, 128, 129, 255, 256, 257, 300}) {
    const Graph graph =
        make({"width", "x: f32[m, 19], w: f32[19, " + std::to_string(columns) + "]", "y = relu(matmul(x, w))"});
    EXPECT_TRUE(matches_every_way(graph, {.of_largest = 1e-5, .at = {{{"m", 1}}, {{"m", 13}}, {{"m", 29}}}}))
        << columns << " columns";
  }
}

}  // namespace
}  // namespace tenon::product_operands_test
