// Attention, its projections and rotary embedding against loops in double.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"

namespace tenon::nn_attention_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
std::string body_name(const Value& value) { return value.node().as<Call>()->body.name(); }

/// Element of a row-major array.
double at(const Array& x, std::initializer_list<int64_t> index) {
  int64_t place = 0;
  size_t axis = 0;
  for (const int64_t i : index) {
    place = place * x.dims()[axis++] + i;
  }
  return x.at(place);
}

using Seen = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;
using Bias = std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)>;

/// Only over the keys that are seen; zeros for none.
Array naive_attention(
    const Array& q, const Array& k, const Array& v, double scale, const Seen& seen,
    const Bias& bias = [](int64_t, int64_t, int64_t, int64_t) { return 0.0; }) {
  const int64_t batch = q.dims()[0];
  const int64_t heads = q.dims()[1];
  const int64_t queries = q.dims()[2];
  const int64_t keys = k.dims()[2];
  const int64_t depth = v.dims()[3];
  Array out(f64, {batch, heads, queries, depth});
  size_t place = 0;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t shared = h / (heads / k.dims()[1]);
      for (int64_t i = 0; i < queries; ++i) {
        std::vector<std::pair<int64_t, long double>> weights;
        long double sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          long double score = 0;
          for (int64_t d = 0; d < q.dims()[3]; ++d) {
            score += at(q, {b, h, i, d}) * at(k, {b, shared, j, d});
          }
          if (seen(b, h, i, j)) {
            weights.emplace_back(j, std::exp(score * scale + bias(b, h, i, j)));
            sum += weights.back().second;
          }
        }
        for (int64_t d = 0; d < depth; ++d) {
          long double mixed = 0;
          for (const auto& [j, weight] : weights) {
            mixed += weight / sum * at(v, {b, shared, j, d});
          }
          out.mutable_values<double>()[place++] = static_cast<double>(mixed);
        }
      }
    }
  }
  return out;
}

bool all(int64_t, int64_t, int64_t, int64_t) { return true; }

struct Case {
  int64_t batch, heads, kv_heads, queries, keys;
};

TEST(Attention, AnyLengthsAnyGroups) {
  std::mt19937_64 rng(1);
  for (const int64_t kv_heads : {6, 3, 1}) {
    const Value q = input("q", shape(f32, "batch", 6, "query", 5));
    const Value k = input("k", shape(f32, "batch", kv_heads, "key", 5));
    const Value v = input("v", shape(f32, "batch", kv_heads, "key", 4));
    const Graph graph({q, k, v}, {{"all", attention(q, k, v)},
                                  {"causal", attention(q, k, v, {.causal = true})},
                                  {"scaled", attention(q, k, v, {.scale = 0.7})}});
    EXPECT_EQ(graph.outputs()[0].value.shape().to_string(), "f32[batch, 6, query, 4]");
    for (const auto& [batch, queries, keys] : std::vector<std::array<int64_t, 3>>{
             {1, 1, 1}, {2, 3, 3}, {1, 1, 9}, {2, 7, 8}, {1, 4, 2}, {1, 3, 0}, {2, 0, 3}, {0, 2, 2}}) {
      const Array a = random_array(f32, {batch, 6, queries, 5}, rng);
      const Array b = random_array(f32, {batch, kv_heads, keys, 5}, rng);
      const Array c = random_array(f32, {batch, kv_heads, keys, 4}, rng);
      // Aligned at the end: the last query sees all keys.
      const auto causal = [n = keys - queries](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + n; };
      const auto out = interpret(graph, {a, b, c});
      const double scale = 1 / std::sqrt(5.0);
      EXPECT_TRUE(close(out[0], naive_attention(a, b, c, scale, all).cast(f32), 1e-5, 1e-5));
      EXPECT_TRUE(close(out[1], naive_attention(a, b, c, scale, causal).cast(f32), 1e-5, 1e-5)) << queries << keys;
      EXPECT_TRUE(close(out[2], naive_attention(a, b, c, 0.7, all).cast(f32), 1e-5, 1e-5));
    }
  }
}

TEST(Attention, SymbolicHeadsGroupWhenBound) {
  std::mt19937_64 rng(2);
  const Value q = in("q", "f32[batch, heads, query, depth]");
  const Value k = in("k", "f32[batch, shared, key, depth]");
  const Value v = in("v", "f32[batch, shared, key, depth]");
  const Graph graph({q, k, v}, {{"y", attention(q, k, v)}});
  for (const auto& [heads, shared] : std::vector<std::array<int64_t, 2>>{{4, 4}, {4, 2}, {3, 1}}) {
    const Array a = random_array(f32, {2, heads, 3, 4}, rng);
    const Array b = random_array(f32, {2, shared, 5, 4}, rng);
    const Array c = random_array(f32, {2, shared, 5, 4}, rng);
    EXPECT_TRUE(close(interpret(graph, {a, b, c})[0], naive_attention(a, b, c, 0.5, all).cast(f32), 1e-5, 1e-5));
  }
  const std::string uneven = error_text(
      [&] { interpret(graph, {Array(f32, {1, 3, 1, 4}), Array(f32, {1, 2, 1, 4}), Array(f32, {1, 2, 1, 4})}); });
  EXPECT_NE(uneven.find("heads"), std::string::npos) << uneven;
}

TEST(Attention, MasksOfEveryKind) {
  std::mt19937_64 rng(3);
  const Value q = in("q", "f32[batch, 2, seq, 3]");
  const Value k = in("k", "f32[batch, 2, seq, 3]");
  const Value v = in("v", "f32[batch, 2, seq, 3]");
  const Value padding = in("padding", "bool[batch, 1, 1, seq]");
  const Value bias = in("bias", "f32[2, seq, seq]");
  const Graph graph({q, k, v, padding, bias}, {{"padding", attention(q, k, v, {.mask = padding})},
                                               {"both", attention(q, k, v, {.mask = padding, .causal = true})},
                                               {"bias", attention(q, k, v, {.mask = bias})}});
  for (const int64_t seq : {1, 5, 8}) {
    const Array a = random_array(f32, {2, 2, seq, 3}, rng);
    const Array b = random_array(f32, {2, 2, seq, 3}, rng);
    const Array c = random_array(f32, {2, 2, seq, 3}, rng);
    Array mask = random_array(boolean, {2, 1, 1, seq}, rng);
    std::ranges::fill(mask.mutable_values<bool>().first(static_cast<size_t>(seq)), false);  // batch 0 sees nothing
    const Array added = random_array(f32, {2, seq, seq}, rng);
    const auto out = interpret(graph, {a, b, c, mask, added});
    const double scale = 1 / std::sqrt(3.0);
    const auto seen = [&](int64_t n, int64_t, int64_t, int64_t j) { return mask.at(n * seq + j) != 0; };
    const auto both = [&](int64_t n, int64_t h, int64_t i, int64_t j) { return j <= i && seen(n, h, i, j); };
    const auto extra = [&](int64_t, int64_t h, int64_t i, int64_t j) { return at(added, {h, i, j}); };
    EXPECT_TRUE(close(out[0], naive_attention(a, b, c, scale, seen).cast(f32), 1e-5, 1e-5));
    EXPECT_TRUE(close(out[1], naive_attention(a, b, c, scale, both).cast(f32), 1e-5, 1e-5));
    EXPECT_TRUE(close(out[2], naive_attention(a, b, c, scale, all, extra).cast(f32), 1e-5, 1e-5));
    for (int64_t i = 0; i < 2 * seq * 3; ++i) {
      EXPECT_EQ(out[0].at(i), 0) << "a row that sees no key is not NaN";
    }
  }
}

TEST(Attention, ExtremeScores) {
  const float inf = std::numeric_limits<float>::infinity();
  const Value q = in("q", "f32[1, 1, n, 1]");
  const Value k = in("k", "f32[1, 1, m, 1]");
  const Value v = in("v", "f32[1, 1, m, 1]");
  const Value mask = in("mask", "f32[n, m]");
  const Graph graph({q, k, v, mask}, {{"y", attention(q, k, v, {.mask = mask})}});
  // Scores of +-1e4, a row that an additive mask hides whole, and one of which a single key is left.
  const auto out = interpret(
      graph, {Array::from<float>({1, 1, 3, 1}, {100, 1, 1}), Array::from<float>({1, 1, 2, 1}, {100, -100}),
              Array::from<float>({1, 1, 2, 1}, {3, 5}), Array::from<float>({3, 2}, {0, 0, -inf, -inf, -inf, 0})});
  EXPECT_TRUE(same(out[0], Array::from<float>({1, 1, 3, 1}, {3, 0, 5})));
  // NaN is not hidden as "no key".
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto bad = interpret(graph, {Array::from<float>({1, 1, 1, 1}, {nan}), Array::from<float>({1, 1, 1, 1}, {1}),
                                     Array::from<float>({1, 1, 1, 1}, {1}), Array(f32, {1, 1})});
  EXPECT_TRUE(std::isnan(bad[0].at(0)));
}

TEST(Attention, HalfTypesScoreWide) {
  for (const Dtype dtype : {f16, bf16}) {
    const Value q = input("q", shape(dtype, 1, 2, "n", 64));
    const Value mask = input("mask", shape(dtype, "n", "n"));
    const Graph graph({q, mask}, {{"y", attention(q, q, q, {.mask = mask, .causal = true})}});
    std::mt19937_64 rng(4);
    const Array data = random_array(dtype, {1, 2, 9, 64}, rng, -1, 1);
    const Array bias = random_array(dtype, {9, 9}, rng);
    const Array exact = interpret(graph, {data, bias}, {.reference = true})[0];
    EXPECT_TRUE(close(interpret(graph, {data, bias})[0], exact.cast(dtype), dtype == f16 ? 1e-3 : 8e-3, 1e-4));
  }
}

/// x[rows, width] w + bias, heads apart: element (row, head, d).
double projected(const Array& x, const Array& w, const Array& bias, int64_t row, int64_t column) {
  double sum = bias.at(column);
  for (int64_t k = 0; k < x.dims().back(); ++k) {
    sum += x.at(row * x.dims().back() + k) * at(w, {k, column});
  }
  return sum;
}

TEST(QkvDense, FusedAndSeparateWeights) {
  std::mt19937_64 rng(5);
  const Value x = in("x", "f32[batch, seq, 6]");
  const Value w = in("w", "f32[6, 32]");
  const Value b = in("b", "f32[32]");
  const Qkv fused = qkv_dense(x, {w}, {b}, 4, 2);
  std::vector<Value> parts;
  std::vector<Value> biases;
  for (const auto& [begin, end] : std::vector<std::array<int64_t, 2>>{{0, 16}, {16, 24}, {24, 32}}) {
    parts.push_back(slice_axis(w, 1, begin, end));
    biases.push_back(slice_axis(b, 0, begin, end));
  }
  const Qkv apart = qkv_dense(x, parts, biases, 4, 2);
  EXPECT_EQ(body_name(fused.q), "qkv_dense");
  EXPECT_EQ(fused.q.shape().to_string(), "f32[batch, 4, seq, 4]");
  EXPECT_EQ(fused.v.shape().to_string(), "f32[batch, 2, seq, 4]");
  const Graph graph(
      {x, w, b}, {{"q", fused.q}, {"k", fused.k}, {"v", fused.v}, {"q2", apart.q}, {"k2", apart.k}, {"v2", apart.v}});
  for (const auto& [batch, seq] : std::vector<std::array<int64_t, 2>>{{1, 1}, {2, 3}, {1, 0}}) {
    const Array data = random_array(f32, {batch, seq, 6}, rng);
    const Array weight = random_array(f32, {6, 32}, rng);
    const Array bias = random_array(f32, {32}, rng);
    const auto out = interpret(graph, {data, weight, bias});
    int64_t first = 0;
    for (size_t part = 0; part < 3; ++part) {
      const int64_t heads = part == 0 ? 4 : 2;
      Array expected(f64, {batch, heads, seq, 4});
      for (int64_t i = 0; i < expected.size(); ++i) {
        const int64_t row = i / (heads * seq * 4) * seq + i / 4 % seq;
        const int64_t column = first + i / (seq * 4) % heads * 4 + i % 4;
        expected.mutable_values<double>()[static_cast<size_t>(i)] = projected(data, weight, bias, row, column);
      }
      EXPECT_TRUE(close(out[part], expected.cast(f32), 1e-5, 1e-5)) << part;
      EXPECT_TRUE(same(out[part + 3], out[part])) << part;
      first += heads * 4;
    }
  }
}

TEST(MultiHeadAttention, SelfAndCross) {
  std::mt19937_64 rng(6);
  const Value x = in("x", "f32[batch, query, 4]");
  const Value context = in("context", "f32[batch, key, 4]");
  std::vector<Value> w;
  std::vector<Value> bias;
  for (const char* name : {"wq", "wk", "wv"}) {
    w.push_back(in(name, "f32[4, 4]"));
    bias.push_back(in((std::string("b") + name).c_str(), "f32[4]"));
  }
  const Value w_out = in("w_out", "f32[4, 3]");
  const HeadWeights weights{.w = w, .bias = bias, .w_out = w_out};
  const Value cross = multi_head_attention(x, weights, 2, {}, context);
  const Value self = multi_head_attention(x, weights, 2, {.causal = true});
  EXPECT_EQ(cross.shape().to_string(), "f32[batch, query, 3]");
  const Graph graph({x, context, w[0], w[1], w[2], bias[0], bias[1], bias[2], w_out},
                    {{"cross", cross}, {"self", self}});
  std::vector<Array> data{random_array(f32, {2, 3, 4}, rng), random_array(f32, {2, 5, 4}, rng)};
  for (int i = 0; i < 3; ++i) {
    data.push_back(random_array(f32, {4, 4}, rng));
  }
  for (int i = 0; i < 3; ++i) {
    data.push_back(random_array(f32, {4}, rng));
  }
  data.push_back(random_array(f32, {4, 3}, rng));
  const auto out = interpret(graph, data);
  for (const size_t kind : {0U, 1U}) {
    const Array& source = data[kind == 0 ? 1 : 0];
    const auto heads = [&](const Array& from, size_t part) {
      const int64_t length = from.dims()[1];
      Array split(f64, {2, 2, length, 2});
      for (int64_t i = 0; i < split.size(); ++i) {
        const int64_t row = i / (4 * length) * length + i / 2 % length;
        split.mutable_values<double>()[static_cast<size_t>(i)] =
            projected(from, data[2 + part], data[5 + part], row, i / (2 * length) % 2 * 2 + i % 2);
      }
      return split;
    };
    const auto seen = [&](int64_t, int64_t, int64_t i, int64_t j) { return kind == 0 || j <= i; };
    const Array mixed =
        naive_attention(heads(data[0], 0), heads(source, 1), heads(source, 2), 1 / std::sqrt(2.0), seen);
    Array expected(f64, {2, 3, 3});
    for (int64_t i = 0; i < expected.size(); ++i) {
      for (int64_t k = 0; k < 4; ++k) {
        expected.mutable_values<double>()[static_cast<size_t>(i)] +=
            at(mixed, {i / 9, k / 2, i / 3 % 3, k % 2}) * at(data[8], {k, i % 3});
      }
    }
    EXPECT_TRUE(close(out[kind], expected.cast(f32), 1e-5, 1e-5)) << kind;
  }
}

TEST(Rotary, TurnsPairsByPosition) {
  std::mt19937_64 rng(7);
  for (const bool interleaved : {false, true}) {
    for (const int64_t turned : {0, 4}) {
      const Value x = in("x", "f32[batch, 2, seq, 6]");
      const Value positions = in("positions", "i32[batch, seq]");
      const RotaryOptions options{
          .base = 100, .interleaved = interleaved, .offset = Extent::name("past"), .depth = turned};
      RotaryOptions given = options;
      given.positions = positions;
      const Graph graph({x, positions}, {{"offset", rotary(x, options)}, {"given", rotary(x, given)}});
      EXPECT_EQ(graph.outputs()[0].value.shape(), x.shape());
      for (const int64_t seq : {0, 1, 7}) {
        const Array data = random_array(f32, {2, 2, seq, 6}, rng);
        const Array where = random_array(i32, {2, seq}, rng, 0, 1000);
        const auto out = interpret(graph, {data, where}, {.bindings = {{"past", 11}}});
        Array expected[] = {data.cast(f64), data.cast(f64)};
        const int64_t depth = turned == 0 ? 6 : turned;
        for (int64_t row = 0; row < 4 * seq; ++row) {
          const int64_t s = row % seq;
          for (int64_t pair = 0; pair < depth / 2; ++pair) {
            const int64_t i = row * 6 + (interleaved ? 2 * pair : pair);
            const int64_t j = i + (interleaved ? 1 : depth / 2);
            for (const size_t which : {0U, 1U}) {
              const double position = which == 0 ? 11 + static_cast<double>(s) : at(where, {row / (2 * seq), s});
              const double angle =
                  position * std::pow(100.0, -2.0 * static_cast<double>(pair) / static_cast<double>(depth));
              auto values = expected[which].mutable_values<double>();
              values[static_cast<size_t>(i)] = data.at(i) * std::cos(angle) - data.at(j) * std::sin(angle);
              values[static_cast<size_t>(j)] = data.at(j) * std::cos(angle) + data.at(i) * std::sin(angle);
            }
          }
        }
        EXPECT_TRUE(close(out[0], expected[0].cast(f32), 1e-5, 1e-5)) << interleaved << turned << seq;
        EXPECT_TRUE(close(out[1], expected[1].cast(f32), 1e-4, 1e-3)) << interleaved << turned << seq;
      }
    }
  }
}

TEST(Rotary, SymbolicDepthMustBeEven) {
  const Value x = in("x", "f32[seq, depth]");
  const Graph graph({x}, {{"y", rotary(x, {.interleaved = true})}});
  EXPECT_EQ(body_name(graph.outputs()[0].value), "rotary");
  const Array out = interpret(graph, {Array::full(f32, {2, 4}, 1)})[0];
  EXPECT_NEAR(out.at(4), std::cos(1.0) - std::sin(1.0), 1e-6);
  EXPECT_NEAR(out.at(7), std::cos(0.01) + std::sin(0.01), 1e-6);
  EXPECT_NE(error_text([&] { interpret(graph, {Array(f32, {2, 3})}); }).find("depth"), std::string::npos);
  EXPECT_NE(error_text([] { rotary(in("x", "f32[seq, 5]")); }).find("is 5, which makes no pairs"), std::string::npos);
  EXPECT_NE(error_text([&] { rotary(x, {.positions = in("p", "f32[seq]")}); }).find("`positions` are f32"),
            std::string::npos);
}

TEST(Attention, ErrorsNameTheAxis) {
  const Value q = in("q", "f32[batch, 6, query, 64]");
  const auto with = [&](const char* k, const char* v, const AttentionOptions& options = {}) {
    return error_text([&] { attention(q, in("k", k), in("v", v), options); });
  };
  EXPECT_EQ(with("f32[batch, 6, key, 80]", "f32[batch, 6, key, 64]"),
            "attention: axis 3 of `q` is 64, axis 3 of `k` is 80\n  `q`: f32[batch, 6, query, 64]\n"
            "  `k`: f32[batch, 6, key, 80]\n  `v`: f32[batch, 6, key, 64]");
  EXPECT_NE(with("f32[batch, 4, key, 64]", "f32[batch, 4, key, 64]").find("6 query heads do not share 4 key heads"),
            std::string::npos);
  EXPECT_NE(with("f32[batch, 6, key, 64]", "f32[batch, 6, other, 64]").find("axis `key` against axis `other`"),
            std::string::npos);
  EXPECT_NE(with("f32[key, 64]", "f32[key, 64]").find("ranks 4, 2 and 2"), std::string::npos);
  const std::string mask =
      with("f32[batch, 6, key, 64]", "f32[batch, 6, key, 64]", {.mask = in("m", "bool[2, 1, 1, query, key]")});
  EXPECT_NE(mask.find("`mask` is bool[2, 1, 1, query, key], must broadcast to the scores"), std::string::npos) << mask;
  EXPECT_NE(with("f32[batch, 6, key, 64]", "f32[batch, 6, key, 64]", {.mask = in("m", "i32[query, key]")})
                .find("`mask` is i32"),
            std::string::npos);
  EXPECT_NE(error_text([] {
              qkv_dense(in("x", "f32[n, 4]"), {in("w", "f32[4, 10]")}, {}, 3);
            }).find("10 columns do not make 9 heads"),
            std::string::npos);
  EXPECT_NE(error_text([] { qkv_dense(in("x", "f32[n, 4]"), {}, {}, 3); }).find("not 0"), std::string::npos);
}

}  // namespace
}  // namespace tenon::nn_attention_test
