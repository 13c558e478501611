// What is computed around products: operands as they are loaded, results while they are in cache.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/compiled.h"
#include "support/small_graph.h"

namespace tenon::product_fusion_test {
namespace {

/// Half types round what is nearly the same to neighbours.
CompiledCheck check_of(const Graph& graph) {
  const bool half = std::ranges::any_of(graph.outputs(), [](const Output& output) {
    return output.value.dtype() == f16 || output.value.dtype() == bf16;
  });
  return {.bindings = 7, .relative = half ? 1e-2 : 1e-4, .of_largest = 1e-5};
}

class ProductFusion : public testing::TestWithParam<SmallGraph> {};

TEST_P(ProductFusion, EqualsTheInterpreter) {
  const Graph graph = make(GetParam());
  EXPECT_TRUE(matches_every_way(graph, check_of(graph)));
}

TEST_P(ProductFusion, EqualsTheInterpreterBeyondATile) {
  const Graph graph = make(GetParam());
  CompiledCheck check = check_of(graph);
  check.at = beyond_a_tile(graph);
  EXPECT_TRUE(matches_every_way(graph, check));
}

std::string name_of(const testing::TestParamInfo<SmallGraph>& each) { return each.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Prologue, ProductFusion,
    testing::Values(
        SmallGraph{"map_left", "a: f32[m, k], b: f32[k, n]", "y = matmul(tanh(a), b)"},
        SmallGraph{"map_right", "a: f32[m, k], b: f32[k, n]", "y = matmul(a, exp(neg(square(b))))"},
        SmallGraph{"map_both", "a: f32[m, k], b: f32[k, n]", "y = matmul(sin(a), cos(b))"},
        SmallGraph{"same_map_both", "a: f32[m, k]", "c = sin(a); y = matmul(c, transpose(c))"},
        SmallGraph{"scale_rows", "a: f32[m, k], s: f32[m, 1], b: f32[k, n]", "y = matmul(mul(a, s), b)"},
        SmallGraph{"scale_depth", "a: f32[m, k], s: f32[k], b: f32[k, n]", "y = matmul(mul(a, s), b)"},
        SmallGraph{"sum_of_operands", "a: f32[m, k], a2: f32[m, k], b: f32[k, n], b2: f32[k, n]",
                   "y = matmul(add(a, a2), sub(b, b2))"},
        SmallGraph{"select", "a: f32[m, k], b: f32[k, n]", "y = matmul(select(lt(a, 0), mul(a, 0.1), a), b)"},
        SmallGraph{"mask_by_position", "a: f32[m, k], b: f32[k, n]",
                   "y = matmul(select(lt(iota(i64[m, k], 0), iota(i64[m, k], 1)), 0, a), b)"},
        SmallGraph{"cast_left", "a: i32[m, k], b: f32[k, n]", "y = matmul(cast(a, f32), b)"},
        SmallGraph{"cast_half", "a: f16[m, k], b: f32[k, n]", "y = matmul(cast(a, f32), b)"},
        SmallGraph{"round_to_half", "a: f32[m, k], b: f32[k, n]", "y = matmul(cast(cast(a, bf16), f32), b)"},
        SmallGraph{"dequantised", "a: f32[m, k], q: i8[k, n], s: f32[n], z: f32[n]",
                   "y = matmul(a, mul(sub(cast(q, f32), z), s))"},
        SmallGraph{"of_bool", "a: bool[m, k], b: f32[k, n]", "y = matmul(cast(a, f32), b)"},
        SmallGraph{"gather_rows", "t: f32[9, k], i: i64[m], b: f32[k, n]", "y = matmul(take(t, i), b)"},
        SmallGraph{"gather_depth", "t: f32[m, 9], i: i64[k], b: f32[k, n]", "y = matmul(take(t, i, 1), b)"},
        SmallGraph{"gather_right", "a: f32[m, k], t: f32[k, 9], i: i64[n]", "y = matmul(a, take(t, i, 1))"},
        SmallGraph{"concat_depth", "a: f32[m, 5], a2: f32[m, 6], b: f32[11, n]",
                   "y = matmul(concat(a, a2, axis=1), b)"},
        SmallGraph{"concat_rows", "a: f32[m, k], a2: f32[3, k], b: f32[k, n]", "y = matmul(concat(a, a2, axis=0), b)"},
        SmallGraph{"concat_columns", "a: f32[m, k], b: f32[k, n], b2: f32[k, 3]",
                   "y = matmul(a, concat(b, b2, axis=1))"},
        SmallGraph{"pad_depth", "a: f32[m, k], b: f32[k+3, n]", "y = matmul(pad(a, [0, 1], [0, 2]), b)"},
        SmallGraph{"pad_rows", "a: f32[m, k], b: f32[k, n]", "y = matmul(pad(a, [2, 0], [1, 0], fill=1), b)"},
        SmallGraph{"pad_columns", "a: f32[m, k], b: f32[k, n]", "y = matmul(a, pad(b, [0, 2], [0, 3]))"},
        SmallGraph{"crop", "a: f32[m, 9], b: f32[6, n]", "y = matmul(pad(a, [0, -2], [0, -1]), b)"},
        SmallGraph{"layer_norm_small", "x: f32[m, 24], s: f32[24], z: f32[24], b: f32[24, 40]",
                   "y = matmul(layer_norm(x, s, z), b)"},
        SmallGraph{"rms_norm_small", "x: f32[b, s, 24], z: f32[24], w: f32[24, 40]", "y = matmul(rms_norm(x, z), w)"},
        SmallGraph{"softmax_small", "x: f32[m, 24], b: f32[24, 7]", "y = matmul(softmax(x), b)"},
        SmallGraph{"softmax_any", "x: f32[m, k], b: f32[k, n]", "y = matmul(softmax(x), b)"},
        SmallGraph{"sum_in_front", "x: f32[m, k, 3], b: f32[k, n]", "y = matmul(reduce_sum(x, [2]), b)"},
        SmallGraph{"largest_in_front", "x: f32[m, 3, k], b: f32[k, n]", "y = matmul(reduce_max(x, [1]), b)"},
        SmallGraph{"reshaped", "a: f32[m, 4, 6], b: f32[24, n]", "y = matmul(reshape(a, [m, 24]), b)"},
        SmallGraph{"reshaped_moved", "a: f32[4, m, 6], b: f32[24, n]",
                   "y = matmul(reshape(transpose(a, [1, 0, 2]), [m, 24]), b)"},
        SmallGraph{"windows_of_rows", "a: f32[m, 24], b: f32[24, n]",
                   "y = add(matmul(slice_axis(a, 0, 0, 1), b), matmul(a, b))"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Epilogue, ProductFusion,
    testing::Values(
        SmallGraph{"bias", "a: f32[m, k], b: f32[k, n], c: f32[n]", "y = add(matmul(a, b), c)"},
        SmallGraph{"row_bias", "a: f32[m, k], b: f32[k, n], c: f32[m, 1]", "y = add(matmul(a, b), c)"},
        SmallGraph{"relu", "a: f32[m, k], b: f32[k, n]", "y = relu(matmul(a, b))"},
        SmallGraph{"gelu", "a: f32[m, k], b: f32[k, n], c: f32[n]", "y = gelu(add(matmul(a, b), c))"},
        SmallGraph{"silu", "a: f32[m, k], b: f32[k, n]", "y = silu(matmul(a, b))"},
        SmallGraph{"tanh", "a: f32[m, k], b: f32[k, n]", "y = tanh(matmul(a, b))"},
        SmallGraph{"residual", "a: f32[m, k], b: f32[k, n], r: f32[m, n]", "y = add(matmul(a, b), r)"},
        SmallGraph{"residual_of_operand", "a: f32[m, 40], b: f32[40, 40]", "y = add(matmul(a, b), a)"},
        SmallGraph{"bias_gelu_residual", "a: f32[b, s, 24], w: f32[24, 40], c: f32[40], r: f32[b, s, 40]",
                   "y = add(gelu(add(matmul(a, w), c)), r)"},
        SmallGraph{"scaled", "a: f32[m, k], b: f32[k, n]", "y = mul(matmul(a, b), 0.125)"},
        SmallGraph{"gate_and_up", "x: f32[m, k], g: f32[k, n], u: f32[k, n]",
                   "y = mul(silu(matmul(x, g)), matmul(x, u))"},
        SmallGraph{"to_half", "a: f32[m, k], b: f32[k, n]", "y = cast(matmul(a, b), bf16)"},
        SmallGraph{"to_bool", "a: f32[m, k], b: f32[k, n]", "y = lt(matmul(a, b), 1e6)"},
        SmallGraph{"to_int", "a: f32[m, k], b: f32[k, n]",
                   "y = cast(mul(matmul(cast(cast(a, i32), f32), cast(cast(b, i32), f32)), 3), i32)"},
        SmallGraph{"two_outputs", "a: f32[m, k], b: f32[k, n], c: f32[n]",
                   "t = add(matmul(a, b), c); y = mul(t, 1); y2 = relu(t)"},
        SmallGraph{"product_and_activation", "a: f32[m, k], b: f32[k, n]", "y = matmul(a, b); y2 = sigmoid(y)"},
        SmallGraph{"output_of_other_dtype", "a: f32[m, k], b: f32[k, n]",
                   "y = matmul(a, b); y2 = cast(relu(y), f16); y3 = lt(y, -1e6)"},
        SmallGraph{"output_moved", "a: f32[m, k], b: f32[k, n]", "y = matmul(a, b); y2 = transpose(relu(y))"},
        SmallGraph{"split_into_heads", "x: f32[b, s, 24], w: f32[24, 40]",
                   "y = transpose(reshape(matmul(x, w), [b, s, 5, 8]), [0, 2, 1, 3])"},
        SmallGraph{"three_of_one", "x: f32[b, s, 24], w: f32[24, 24], w2: f32[24, 24], w3: f32[24, 16]",
                   "y = matmul(x, w); y2 = matmul(x, w2); y3 = relu(matmul(x, w3))"},
        SmallGraph{"row_softmax", "a: f32[b, m, k], c: f32[b, k, n]", "y = softmax(matmul(a, c))"},
        SmallGraph{"row_softmax_plain", "a: f32[m, k], b: f32[k, n]", "y = softmax(matmul(a, b))"},
        SmallGraph{"row_softmax_small", "a: f32[m, k], b: f32[k, 10]", "y = log_softmax(matmul(a, b))"},
        SmallGraph{"column_softmax", "a: f32[b, m, k], c: f32[b, k, n]", "y = softmax(matmul(a, c), 1)"},
        SmallGraph{"row_sum", "a: f32[m, k], b: f32[k, n]", "y = reduce_sum(relu(matmul(a, b)), [1])"},
        SmallGraph{"column_sum", "a: f32[m, k], b: f32[k, n]", "y = reduce_sum(square(matmul(a, b)), [0])"},
        SmallGraph{"row_max_and_all", "a: f32[b, m, k], c: f32[b, k, n]", "y = matmul(a, c); y2 = reduce_max(y, [2])"},
        SmallGraph{"total", "a: f32[m, k], b: f32[k, n]", "y = reduce_sum(matmul(a, b))"},
        SmallGraph{"argmax", "a: f32[m+1, k], b: f32[k, n+1]", "y = argmax(matmul(a, b), 1)"},
        SmallGraph{"layer_norm_after", "x: f32[m, k], b: f32[k, 24], s: f32[24], z: f32[24], r: f32[m, 24]",
                   "y = layer_norm(add(matmul(x, b), r), s, z)"},
        SmallGraph{"gathered", "a: f32[m+1, k], b: f32[k, n], i: i64[5]",
                   "y = take(matmul(a, b), cast(mul(cast(i, f32), 0), i64))"},
        SmallGraph{"padded", "a: f32[m, k], b: f32[k, n]", "y = pad(matmul(a, b), [1, 2], [3, 4])"},
        SmallGraph{"two_layers", "x: f32[m, 24], w: f32[24, 40], w2: f32[40, 24]",
                   "y = add(x, matmul(gelu(matmul(x, w)), w2))"},
        SmallGraph{"small_chain", "x: f32[m, 5], b: f32[5, 6], c: f32[6, 7], d: f32[7, 8]",
                   "y = matmul(relu(matmul(relu(matmul(x, b)), c)), d)"},
        SmallGraph{"long_chain", "x: f32[m, 24], w: f32[24, 24]",
                   "a = matmul(x, w); b = matmul(a, w); c = matmul(b, w); d = matmul(c, w); y = matmul(d, w)"},
        SmallGraph{"chain_read_again", "x: f32[m, 24], w: f32[24, 24]",
                   "a = matmul(x, w); b = matmul(a, w); c = tanh(matmul(b, w)); d = matmul(c, w); "
                   "y = matmul(add(d, a), w); y2 = softmax(tanh(add(b, d)))"},
        SmallGraph{"position_added", "a: f32[m, k], b: f32[k, n]",
                   "y = add(matmul(a, b), cast(iota(i64[m, n], 1), f32))"}),
    name_of);

}  // namespace
}  // namespace tenon::product_fusion_test
