// Transposed convolutions by their definition: each element spreads the weights over the result, and nothing else is
// multiplied. An infinite weight shows what is.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "support/arrays.h"
#include "support/compiled.h"
#include "tenon/compile.h"
#include "tenon/convolution.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::transposed_conv_test {
namespace {

struct Case {
  int64_t size, taps, stride, dilation, low, high, extra, groups;
};

/// x[n, c, size], w[c, o / groups, taps].
Array obvious(const Array& x, const Array& w, const Case& of) {
  const int64_t batch = x.dims()[0];
  const int64_t channels = x.dims()[1];
  const int64_t each = w.dims()[1];
  const int64_t results = (of.size - 1) * of.stride + (of.taps - 1) * of.dilation + 1 - of.low - of.high + of.extra;
  std::vector<double> sums(static_cast<size_t>(batch * each * of.groups * results), 0);
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t group = c / (channels / of.groups);
      for (int64_t o = 0; o < each; ++o) {
        for (int64_t i = 0; i < of.size; ++i) {
          for (int64_t k = 0; k < of.taps; ++k) {
            const int64_t at = i * of.stride + k * of.dilation - of.low;
            if (at >= 0 && at < results) {
              sums[static_cast<size_t>(((n * of.groups + group) * each + o) * results + at)] +=
                  x.at((n * channels + c) * of.size + i) * w.at((c * each + o) * of.taps + k);
            }
          }
        }
      }
    }
  }
  return Array::from<double>({batch, each * of.groups, results}, sums).cast(x.dtype());
}

class TransposedConv : public testing::TestWithParam<Case> {};

TEST_P(TransposedConv, MultipliesOnlyWhatIsThere) {
  const Case of = GetParam();
  const ConvTransposeOptions options{.stride = {of.stride},
                                     .dilation = {of.dilation},
                                     .low = {of.low},
                                     .high = {of.high},
                                     .output_padding = {of.extra},
                                     .groups = of.groups};
  std::mt19937_64 rng(3);
  const Array x = random_array(f32, {2, 4, of.size}, rng);
  const Array finite = random_array(f32, {4, 3, of.taps}, rng);
  for (const double special : {0.5, std::numeric_limits<double>::infinity()}) {
    std::vector<float> weights(finite.values<float>().begin(), finite.values<float>().end());
    weights[0] = static_cast<float>(special);                                     // the first offset
    weights[static_cast<size_t>(4 * of.taps - 1)] = static_cast<float>(special);  // the last one of another channel
    const Array w = Array::from<float>(finite.dims(), weights);
    const Array expected = obvious(x, w, of);
    const Value in = input("x", shape(f32, "n", 4, "size"));
    const Value given = input("w", shape(f32, 4, 3, of.taps));
    const Graph with_input({in, given}, {{"y", conv_transpose(in, given, options)}});
    const Graph with_constant({in}, {{"y", conv_transpose(in, constant(w), options)}});
    EXPECT_TRUE(close(interpret(with_input, {x, w})[0], expected, 1e-4));
    EXPECT_TRUE(close(interpret(with_constant, {x})[0], expected, 1e-4));
    EXPECT_TRUE(close(compile(with_input, {.disk_cache = false}).run({x, w})[0], expected, 1e-4));
    EXPECT_TRUE(close(compile(with_constant, {.disk_cache = false}).run({x})[0], expected, 1e-4));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, TransposedConv,
                         testing::Values(Case{7, 4, 2, 1, 0, 0, 0, 1}, Case{7, 4, 2, 1, 1, 1, 0, 1},
                                         Case{5, 3, 3, 1, 0, 0, 1, 1}, Case{5, 3, 3, 1, 1, 0, 2, 2},
                                         Case{6, 3, 2, 3, 2, 3, 1, 1}, Case{6, 16, 8, 1, 4, 4, 0, 2},
                                         Case{1, 5, 2, 1, 1, 1, 0, 1}, Case{9, 1, 4, 1, 0, 0, 3, 1},
                                         Case{6, 3, 1, 1, 1, 1, 0, 1}, Case{6, 5, 1, 2, 0, 2, 0, 2},
                                         Case{4, 2, 5, 3, 0, 0, 2, 1}, Case{7, 2, 2, 1, 3, 3, 0, 1},
                                         Case{2, 4, 2, 1, 0, 4, 1, 1}, Case{2, 3, 3, 1, 4, 0, 2, 1}));

/// Two axes at once, sizes that only the run knows, half types, and what lies around the convolution.
TEST(TransposedConvs, EveryWayGivesTheSame) {
  for (const Dtype dtype : {f32, f16, f64}) {
    const Value x = input("x", shape(dtype, "n", 4, "h", "w"));
    const Value weights = input("weights", shape(dtype, 4, 3, 3, 4));
    const ConvTransposeOptions options{.stride = {2, 3}, .low = {1, 0}, .high = {1, 2}, .output_padding = {1, 0}};
    const Value y = relu(conv_transpose(exp(x), weights, options) + 1.0);
    EXPECT_TRUE(matches_every_way(Graph({x, weights}, {{"y", y}}),
                                  {.relative = dtype == f16 ? 4e-3 : 2e-5, .absolute = dtype == f16 ? 1e-2 : 1e-5}))
        << name(dtype);
  }
}

}  // namespace
}  // namespace tenon::transposed_conv_test
