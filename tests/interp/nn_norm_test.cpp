// Normalisation against loops in double.
#include <algorithm>
#include <cmath>

#include "ir/node.h"
#include "support/arrays.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"

namespace tenon::nn_norm_test {
namespace {

Value in(const char* name, const char* text) { return input(name, Shape::parse(text)); }
std::string body_name(const Value& value) { return value.node().as<Call>()->body.name(); }

struct Statistics {
  double mean = 0;
  double variance = 0;  // biased
};

/// Of the elements of `x` whose group is `group`.
template <class Group>
Statistics statistics(const Array& x, Group&& group_of, int64_t group) {
  double sum = 0;
  double count = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    sum += group_of(i) == group ? x.at(i) : 0;
    count += group_of(i) == group ? 1 : 0;
  }
  Statistics result{sum / count, 0};
  for (int64_t i = 0; i < x.size(); ++i) {
    result.variance += group_of(i) == group ? std::pow(x.at(i) - result.mean, 2) / count : 0;
  }
  return result;
}

/// Elements normalised within their group, then scaled and shifted by their channel.
template <class Group, class Channel>
Array normalised(const Array& x, Group&& group_of, Channel&& channel_of, const Array& scale, const Array& bias,
                 double epsilon) {
  Array out(f64, x.dims());
  std::vector<Statistics> known;
  for (int64_t i = 0; i < x.size(); ++i) {
    while (static_cast<int64_t>(known.size()) <= group_of(i)) {
      known.push_back(statistics(x, group_of, static_cast<int64_t>(known.size())));
    }
    const Statistics& s = known[static_cast<size_t>(group_of(i))];
    out.mutable_values<double>()[static_cast<size_t>(i)] =
        (x.at(i) - s.mean) / std::sqrt(s.variance + epsilon) * scale.at(channel_of(i)) + bias.at(channel_of(i));
  }
  return out;
}

TEST(LayerNorm, LastAxisAtSeveralBindings) {
  std::mt19937_64 rng(1);
  const Value x = in("x", "f32[batch, seq, width]");
  const Value scale = in("scale", "f32[width]");
  const Value bias = in("bias", "f32[width]");
  const Graph graph({x, scale, bias}, {{"y", layer_norm(x, scale, bias)}});
  for (const auto& [batch, seq, width] : std::vector<std::array<int64_t, 3>>{
           {0, 3, 4}, {2, 0, 4}, {1, 1, 1}, {2, 3, 7}, {3, 1, 8}, {2, 2, 9}, {1, 2, 300}}) {
    const Array data = random_array(f32, {batch, seq, width}, rng, -3, 5);
    const Array s = random_array(f32, {width}, rng);
    const Array b = random_array(f32, {width}, rng);
    const Array expected = normalised(
        data, [w = width](int64_t i) { return i / w; }, [w = width](int64_t i) { return i % w; }, s, b, 1e-5);
    EXPECT_TRUE(close(interpret(graph, {data, s, b})[0], expected.cast(f32), 1e-5, 1e-5)) << width;
    EXPECT_TRUE(close(interpret(graph, {data, s, b}, {.reference = true})[0], expected, 1e-10, 1e-10)) << width;
  }
}

TEST(LayerNorm, SeveralAxesInAnyOrder) {
  std::mt19937_64 rng(2);
  const Value x = in("x", "f32[n, 3, 5]");
  const Value scale = in("scale", "f32[3, 5]");
  const Graph graph({x, scale}, {{"y", layer_norm(x, scale, {}, {-1, -2}, 1e-3)}});
  const Array data = random_array(f32, {4, 3, 5}, rng);
  const Array s = random_array(f32, {3, 5}, rng);
  const Array expected =
      normalised(data, [](int64_t i) { return i / 15; }, [](int64_t i) { return i % 15; }, s, Array(f32, {15}), 1e-3);
  EXPECT_TRUE(close(interpret(graph, {data, s})[0], expected.cast(f32), 1e-5, 1e-6));
}

TEST(LayerNorm, LargeMeanKeepsItsDigits) {
  const Value x = in("x", "f32[n, 8]");
  const Graph graph({x}, {{"y", layer_norm(x)}});
  Array data(f32, {1, 8});
  for (size_t i = 0; i < 8; ++i) {
    data.mutable_values<float>()[i] = 4e6f + static_cast<float>(i);
  }
  const Array out = interpret(graph, {data})[0];
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(out.at(i), (static_cast<double>(i) - 3.5) / std::sqrt(5.25 + 1e-5), 1e-5);
  }
}

TEST(RmsNorm, AgainstALoop) {
  std::mt19937_64 rng(3);
  const Value x = in("x", "f32[n, width]");
  const Value scale = in("scale", "f32[width]");
  const Graph graph({x, scale}, {{"y", rms_norm(x, scale, {-1}, 1e-6)}});
  for (const int64_t width : {1, 7, 8, 9}) {
    const Array data = random_array(f32, {3, width}, rng);
    const Array s = random_array(f32, {width}, rng);
    Array expected(f64, {3, width});
    for (int64_t i = 0; i < data.size(); ++i) {
      double squares = 0;
      for (int64_t k = 0; k < width; ++k) {
        squares += std::pow(data.at(i / width * width + k), 2);
      }
      expected.mutable_values<double>()[static_cast<size_t>(i)] =
          data.at(i) / std::sqrt(squares / static_cast<double>(width) + 1e-6) * s.at(i % width);
    }
    EXPECT_TRUE(close(interpret(graph, {data, s})[0], expected.cast(f32), 1e-5, 1e-6)) << width;
  }
}

TEST(GroupNorm, ChannelsInGroupsOnDynamicAxes) {
  std::mt19937_64 rng(4);
  const Value x = in("x", "f32[batch, channel, height, width]");
  const Value scale = in("scale", "f32[channel]");
  const Value bias = in("bias", "f32[channel]");
  const Graph graph({x, scale, bias},
                    {{"group", group_norm(x, scale, bias, 3)}, {"instance", instance_norm(x, scale, bias)}});
  for (const auto& [batch, channel, side] :
       std::vector<std::array<int64_t, 3>>{{1, 3, 1}, {2, 6, 3}, {1, 9, 8}, {0, 3, 2}}) {
    const Array data = random_array(f32, {batch, channel, side, 2}, rng);
    const Array s = random_array(f32, {channel}, rng);
    const Array b = random_array(f32, {channel}, rng);
    const int64_t plane = side * 2;
    const int64_t group = channel / 3 * plane;
    const auto channel_of = [&, c = channel](int64_t i) { return i / plane % c; };
    const auto out = interpret(graph, {data, s, b});
    EXPECT_TRUE(close(
        out[0], normalised(data, [&](int64_t i) { return i / group; }, channel_of, s, b, 1e-5).cast(f32), 1e-5, 1e-5));
    EXPECT_TRUE(close(
        out[1], normalised(data, [&](int64_t i) { return i / plane; }, channel_of, s, b, 1e-5).cast(f32), 1e-5, 1e-5));
  }
  EXPECT_NE(error_text([&] {
              interpret(graph, {Array(f32, {1, 4, 2, 2}), Array(f32, {4}), Array(f32, {4})});
            }).find("channel"),
            std::string::npos);
}

TEST(BatchNorm, InferenceUsesGivenMoments) {
  std::mt19937_64 rng(5);
  const Value x = in("x", "f32[batch, 3, width]");
  std::vector<Value> inputs{x};
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    inputs.push_back(in(name, "f32[3]"));
  }
  const Graph graph(inputs, {{"y", batch_norm(x, inputs[1], inputs[2], inputs[3], inputs[4], 1e-3)}});
  const Array data = random_array(f32, {2, 3, 4}, rng);
  const Array p[] = {random_array(f32, {3}, rng), random_array(f32, {3}, rng), random_array(f32, {3}, rng),
                     random_array(f32, {3}, rng, 0.5, 2)};
  Array expected(f64, {2, 3, 4});
  for (int64_t i = 0; i < data.size(); ++i) {
    const int64_t c = i / 4 % 3;
    expected.mutable_values<double>()[static_cast<size_t>(i)] =
        (data.at(i) - p[2].at(c)) / std::sqrt(p[3].at(c) + 1e-3) * p[0].at(c) + p[1].at(c);
  }
  EXPECT_TRUE(close(interpret(graph, {data, p[0], p[1], p[2], p[3]})[0], expected.cast(f32), 1e-5, 1e-6));
}

TEST(BatchNorm, TrainingUpdatesRunningMoments) {
  std::mt19937_64 rng(6);
  const Value x = in("x", "f32[batch, channel, width]");
  std::vector<Value> inputs{x};
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    inputs.push_back(in(name, "f32[channel]"));
  }
  const BatchNorm done = batch_norm_training(x, inputs[1], inputs[2], inputs[3], inputs[4], 0.25);
  const Graph graph("train", inputs,
                    {{"y", done.y}, {"mean", done.running_mean, 3}, {"variance", done.running_variance, 4}});
  EXPECT_EQ(body_name(done.y), "batch_norm_training");
  EXPECT_EQ(&done.y.node(), &done.running_variance.node());
  for (const auto& [batch, channel, width] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {2, 3, 4}, {5, 2, 1}, {1, 8, 9}}) {
    const Array data = random_array(f32, {batch, channel, width}, rng);
    const Array scale = random_array(f32, {channel}, rng);
    const Array bias = random_array(f32, {channel}, rng);
    const Array mean = random_array(f32, {channel}, rng);
    const Array variance = random_array(f32, {channel}, rng, 0, 2);
    const auto channel_of = [c = channel, w = width](int64_t i) { return i / w % c; };
    const auto out = interpret(graph, {data, scale, bias, mean, variance});
    EXPECT_TRUE(close(out[0], normalised(data, channel_of, channel_of, scale, bias, 1e-5).cast(f32), 1e-5, 1e-5));
    const auto count = static_cast<double>(batch * width);
    for (int64_t c = 0; c < channel; ++c) {
      const Statistics s = statistics(data, channel_of, c);
      EXPECT_NEAR(out[1].at(c), 0.75 * mean.at(c) + 0.25 * s.mean, 1e-5);
      const double unbiased = count > 1 ? s.variance * count / (count - 1) : 0;
      EXPECT_NEAR(out[2].at(c), 0.75 * variance.at(c) + 0.25 * unbiased, 1e-5);
    }
  }
}

TEST(Dense, AnyUnaryRowActivates) {
  std::mt19937_64 rng(7);
  const Value x = in("x", "f32[batch, seq, 5]");
  const Value w = in("w", "f32[5, unit]");
  const Value b = in("b", "f32[unit]");
  const Graph graph({x, w, b}, {{"plain", dense(x, w)},
                                {"relu", dense(x, w, b, "relu")},
                                {"silu", dense(x, w, b, "silu")},
                                {"gelu", dense(x, w, b, "gelu")}});
  EXPECT_EQ(graph.outputs()[1].value.shape().to_string(), "f32[batch, seq, unit]");
  for (const auto& [batch, seq, unit] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {2, 3, 8}, {0, 2, 3}, {2, 2, 0}}) {
    const Array data = random_array(f32, {batch, seq, 5}, rng);
    const Array weight = random_array(f32, {5, unit}, rng);
    const Array bias = random_array(f32, {unit}, rng);
    std::vector<Array> expected(4, Array(f64, {batch, seq, unit}));
    for (int64_t i = 0; i < batch * seq * unit; ++i) {
      const int64_t u = i % unit;
      double sum = 0;
      for (int64_t k = 0; k < 5; ++k) {
        sum += data.at(i / unit * 5 + k) * weight.at(k * unit + u);
      }
      const double y = sum + bias.at(u);
      const double values[] = {sum, std::max(y, 0.0), y / (1 + std::exp(-y)), y * std::erfc(-y / std::sqrt(2.0)) / 2};
      for (size_t k = 0; k < 4; ++k) {
        expected[k].mutable_values<double>()[static_cast<size_t>(i)] = values[k];
      }
    }
    const auto out = interpret(graph, {data, weight, bias});
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_TRUE(close(out[k], expected[k].cast(f32), 1e-5, 1e-6)) << k;
    }
  }
}

TEST(Dense, GatedUnits) {
  std::mt19937_64 rng(8);
  const Value x = in("x", "f32[n, 3]");
  const Value gate = in("gate", "f32[3, 4]");
  const Value up = in("up", "f32[3, 4]");
  const Value down = in("down", "f32[4, 2]");
  const Graph graph({x, gate, up, down}, {{"swiglu", swiglu(x, gate, up, down)}, {"geglu", geglu(x, gate, up, down)}});
  const Array a[] = {random_array(f32, {2, 3}, rng), random_array(f32, {3, 4}, rng), random_array(f32, {3, 4}, rng),
                     random_array(f32, {4, 2}, rng)};
  Array expected[] = {Array(f64, {2, 2}), Array(f64, {2, 2})};
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t h = 0; h < 4; ++h) {
      double g = 0;
      double u = 0;
      for (int64_t k = 0; k < 3; ++k) {
        g += a[0].at(n * 3 + k) * a[1].at(k * 4 + h);
        u += a[0].at(n * 3 + k) * a[2].at(k * 4 + h);
      }
      for (int64_t o = 0; o < 2; ++o) {
        const auto at = static_cast<size_t>(n * 2 + o);
        expected[0].mutable_values<double>()[at] += g / (1 + std::exp(-g)) * u * a[3].at(h * 2 + o);
        expected[1].mutable_values<double>()[at] += g * std::erfc(-g / std::sqrt(2.0)) / 2 * u * a[3].at(h * 2 + o);
      }
    }
  }
  const auto out = interpret(graph, {a[0], a[1], a[2], a[3]});
  EXPECT_TRUE(close(out[0], expected[0].cast(f32), 1e-5, 1e-5));
  EXPECT_TRUE(close(out[1], expected[1].cast(f32), 1e-5, 1e-5));
}

TEST(Norms, HalfTypesComputeWide) {
  for (const Dtype dtype : {f16, bf16}) {
    const Value x = input("x", shape(dtype, "n", 300));
    const Value w = input("w", shape(dtype, 300, 3));
    const Graph graph({x, w}, {{"norm", layer_norm(x)}, {"rms", rms_norm(x)}, {"dense", dense(x, w, {}, "tanh")}});
    std::mt19937_64 rng(9);
    // Squares of these leave f16.
    const Array data = random_array(dtype, {2, 300}, rng, 300, 400);
    const Array weight = random_array(dtype, {300, 3}, rng, -1e-3, 1e-3);
    const auto exact = interpret(graph, {data, weight}, {.reference = true});
    const auto out = interpret(graph, {data, weight});
    for (size_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(close(out[i], exact[i].cast(dtype), dtype == f16 ? 1e-3 : 8e-3, 1e-4)) << name(dtype) << " " << i;
    }
  }
}

TEST(Norms, AreCompositesOfTheirNames) {
  const Value x = in("x", "f32[batch, 4, n]");
  const Value p = in("p", "f32[4]");
  EXPECT_EQ(body_name(layer_norm(x)), "layer_norm");
  EXPECT_EQ(body_name(rms_norm(x)), "rms_norm");
  EXPECT_EQ(body_name(group_norm(x, p, p, 2)), "group_norm");
  EXPECT_EQ(body_name(instance_norm(x)), "instance_norm");
  EXPECT_EQ(body_name(batch_norm(x, p, p, p, p)), "batch_norm");
  EXPECT_EQ(body_name(dense(x, in("w", "f32[n, 3]"))), "dense");
}

TEST(Norms, Errors) {
  const Value x = in("x", "f32[batch, 4, n]");
  const Value p = in("p", "f32[3]");
  EXPECT_EQ(error_text([&] { group_norm(x, {}, {}, 3); }),
            "group_norm: 4 channels do not make 3 groups\n  `x`: f32[batch, 4, n]");
  const std::string scale = error_text([&] { instance_norm(x, p); });
  EXPECT_NE(scale.find("4"), std::string::npos) << scale;
  EXPECT_NE(scale.find("in instance_norm"), std::string::npos) << scale;
  EXPECT_NE(error_text([&] { layer_norm(x, in("s", "f32[4, n]")); }).find("`scale` has rank 2, must have 1"),
            std::string::npos);
  const std::string wide = error_text([] { layer_norm(in("x", "f32[n, 1]"), in("s", "f32[3]")); });
  EXPECT_NE(wide.find("axis 1 of `x` is 1, its parameters have 3"), std::string::npos) << wide;
  const std::string product = error_text([&] { dense(in("x", "f32[batch, 64]"), in("w", "f32[80, 10]")); });
  EXPECT_NE(product.find("axis 1 of `x` is 64, axis 0 of `w` is 80"), std::string::npos) << product;
  EXPECT_NE(product.find("in dense"), std::string::npos) << product;
  EXPECT_NE(error_text([&] { dense(x, in("w", "f32[n, 3]"), p, "leaky_relu"); }).find("`leaky_relu` is no activation"),
            std::string::npos);
  EXPECT_NE(error_text([&] { dense(x, in("w", "f32[n, 3]"), p, "rely"); }).find("called `rely`"), std::string::npos);
  EXPECT_NE(error_text([&] { dense(x, in("w", "f32[n, 3]"), in("b", "f32[4]")); }).find("`bias` is 4"),
            std::string::npos);
  EXPECT_NE(error_text([&] { batch_norm(x, {}, {}, {}, {}); }).find("`mean` is an empty Value"), std::string::npos);
}

}  // namespace
}  // namespace tenon::nn_norm_test
