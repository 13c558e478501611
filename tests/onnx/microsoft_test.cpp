// Fused operators against what they are made of.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "onnx/model_builder.h"
#include "support/arrays.h"
#include "tenon/convolution.h"
#include "tenon/indexing.h"
#include "tenon/interpreter.h"
#include "tenon/nn.h"
#include "tenon/onnx.h"

namespace tenon::microsoft_test {
namespace {

constexpr const char* kDomain = "com.microsoft";

/// One node with inputs a, b, c, ... of these arrays; an empty optional input where there is no name.
class OneNode {
 public:
  OneNode(const std::string& type, const std::vector<proto::AttributeProto>& attributes, size_t results = 1)
      : type_(type), attributes_(attributes), results_(results) {}

  OneNode& with(const Array& array) {
    arrays_.push_back(array);
    names_.push_back(std::string(1, static_cast<char>('a' + names_.size())));
    model_.input(names_.back(), Shape(array.dtype(), {array.dims().begin(), array.dims().end()}).to_string());
    return *this;
  }
  OneNode& without() {
    names_.emplace_back();
    return *this;
  }

  std::vector<Array> run() {
    model_.opset(kDomain, 1);
    std::vector<std::string> outputs;
    for (size_t i = 0; i < results_; ++i) {
      outputs.push_back("y" + std::to_string(i));
      model_.output(outputs.back());
    }
    model_.node(type_, names_, outputs, attributes_, kDomain);
    return interpret(import_onnx_bytes(model_.bytes()), arrays_);
  }

 private:
  OnnxModelBuilder model_;
  std::string type_;
  std::vector<proto::AttributeProto> attributes_;
  size_t results_;
  std::vector<std::string> names_;
  std::vector<Array> arrays_;
};

class OnnxMicrosoft : public testing::Test {
 protected:
  Array random(std::vector<int64_t> dims) { return random_array(f32, std::move(dims), rng_, -1, 1); }

  static Array evaluate(const Value& value) { return interpret(Graph({}, {{"y", value}}), {})[0]; }

  std::mt19937_64 rng_{7};
};

/// x[batch, seq, heads * depth] as heads.
Value heads(const Value& x, int64_t count) {
  const Extent depth = floordiv(x.extent(2), count);
  return transpose(reshape(x, {x.extent(0), x.extent(1), count, depth}), {0, 2, 1, 3});
}

Value side_by_side(const Value& x) {
  const Value moved = transpose(x, {0, 2, 1, 3});
  return reshape(moved, {moved.extent(0), moved.extent(1), moved.extent(2) * moved.extent(3)});
}

TEST_F(OnnxMicrosoft, FusedMatMulTransposesAndScales) {
  const Array a = random({2, 3, 4});
  const Array b = random({2, 5, 3});
  const std::vector<Array> y = OneNode("FusedMatMul", {attribute("transA", int64_t{1}), attribute("transB", int64_t{1}),
                                                       attribute("alpha", 0.5)})
                                   .with(a)
                                   .with(b)
                                   .run();
  const Value expected = matmul(transpose(constant(a), {0, 2, 1}), transpose(constant(b), {0, 2, 1})) * 0.5;
  EXPECT_TRUE(close(y[0], evaluate(expected), 1e-6, 1e-6));
}

TEST_F(OnnxMicrosoft, SkipNormGivesTheSumToo) {
  const Array x = random({2, 3, 4});
  const Array skip = random({2, 3, 4});
  const Array gamma = random({4});
  const Array beta = random({4});
  const Array bias = random({4});
  OnnxModelBuilder model;
  model.opset(kDomain, 1);
  const std::vector<std::pair<std::string, Array>> inputs = {
      {"x", x}, {"skip", skip}, {"gamma", gamma}, {"beta", beta}, {"bias", bias}};
  std::vector<Array> arrays;
  for (const auto& [name, array] : inputs) {
    model.input(name, Shape(array.dtype(), {array.dims().begin(), array.dims().end()}).to_string());
    arrays.push_back(array);
  }
  model.node("SkipLayerNormalization", {"x", "skip", "gamma", "beta", "bias"}, {"y", "", "", "sum"}, {}, kDomain);
  model.output("y");
  model.output("sum");
  const std::vector<Array> y = interpret(import_onnx_bytes(model.bytes()), arrays);
  const Value sum = constant(x) + constant(skip) + constant(bias);
  EXPECT_TRUE(close(y[0], evaluate(layer_norm(sum, constant(gamma), constant(beta), {-1}, 1e-12)), 1e-6, 1e-6));
  EXPECT_TRUE(close(y[1], evaluate(sum), 1e-6, 1e-6));
}

TEST_F(OnnxMicrosoft, AttentionSeesKeysByLengths) {
  const Array x = random({2, 3, 4});
  const Array w = random({4, 12});
  const Array bias = random({12});
  const std::vector<Array> y = OneNode("Attention", {attribute("num_heads", int64_t{2})})
                                   .with(x)
                                   .with(w)
                                   .with(bias)
                                   .with(Array::from<int32_t>({2}, {3, 1}))
                                   .run();
  const std::vector<Value> parts = split_evenly(matmul(constant(x), constant(w)) + constant(bias), 2, 3);
  const Value seen = constant(Array::from<uint8_t>({2, 1, 1, 3}, {1, 1, 1, 1, 0, 0}).cast(boolean));
  const Value expected = attention(heads(parts[0], 2), heads(parts[1], 2), heads(parts[2], 2), {.mask = seen});
  EXPECT_TRUE(close(y[0], evaluate(side_by_side(expected)), 1e-5, 1e-6));
}

TEST_F(OnnxMicrosoft, MultiHeadAttentionKeepsThePast) {
  const Array q = random({1, 2, 4});
  const Array k = random({1, 2, 4});
  const Array v = random({1, 2, 4});
  const Array past_k = random({1, 2, 3, 2});
  const Array past_v = random({1, 2, 3, 2});
  const std::vector<Array> y =
      OneNode("MultiHeadAttention", {attribute("num_heads", int64_t{2}), attribute("unidirectional", int64_t{1})}, 3)
          .with(q)
          .with(k)
          .with(v)
          .without()
          .without()
          .without()
          .with(past_k)
          .with(past_v)
          .run();
  const Value keys = concat({constant(past_k), heads(constant(k), 2)}, 2);
  const Value values = concat({constant(past_v), heads(constant(v), 2)}, 2);
  const Value expected = attention(heads(constant(q), 2), keys, values, {.causal = true});
  EXPECT_TRUE(close(y[0], evaluate(side_by_side(expected)), 1e-5, 1e-6));
  EXPECT_TRUE(same(y[1], evaluate(keys)));
  EXPECT_TRUE(same(y[2], evaluate(values)));
}

TEST_F(OnnxMicrosoft, GroupQueryAttentionOfDifferentLengths) {
  // Two elements with 3 and 1 keys of the past; one new token each. Each must be what it would be alone.
  const Array q = random({2, 1, 8});
  const Array k = random({2, 1, 4});
  const Array v = random({2, 1, 4});
  const Array past_k = random({2, 1, 3, 4});
  const Array past_v = random({2, 1, 3, 4});
  const auto attributes = {attribute("num_heads", int64_t{2}), attribute("kv_num_heads", int64_t{1})};
  const std::vector<Array> y = OneNode("GroupQueryAttention", attributes, 3)
                                   .with(q)
                                   .with(k)
                                   .with(v)
                                   .with(past_k)
                                   .with(past_v)
                                   .with(Array::from<int32_t>({2}, {3, 1}))
                                   .with(Array::from<int32_t>({}, {4}))
                                   .run();
  for (const auto& [element, past] : {std::pair<int64_t, int64_t>{0, 3}, {1, 1}}) {
    const auto own = [&, e = element](const Array& array) { return slice_axis(constant(array), 0, e, e + 1); };
    const auto joined = [&, p = past](const Array& old, const Array& fresh) {
      return concat({slice_axis(own(old), 2, 0, p), heads(own(fresh), 1)}, 2);
    };
    const Value expected = attention(heads(own(q), 2), joined(past_k, k), joined(past_v, v));
    const Value actual = slice_axis(constant(y[0]), 0, element, element + 1);
    EXPECT_TRUE(close(evaluate(actual), evaluate(side_by_side(expected)), 1e-5, 1e-6)) << element;
    const Value present = slice_axis(slice_axis(constant(y[1]), 0, element, element + 1), 2, 0, past + 1);
    EXPECT_TRUE(same(evaluate(present), evaluate(joined(past_k, k)))) << element;
  }
}

TEST_F(OnnxMicrosoft, RotaryEmbeddingIsRotary) {
  const Array x = random({2, 3, 8});
  std::vector<float> cosines;
  std::vector<float> sines;
  for (int position = 0; position < 16; ++position) {
    for (int i = 0; i < 2; ++i) {
      const double angle = position * std::pow(10000.0, -2.0 * i / 4);
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  for (const bool interleaved : {false, true}) {
    const std::vector<Array> y = OneNode("RotaryEmbedding", {attribute("interleaved", int64_t{interleaved ? 1 : 0})})
                                     .with(x)
                                     .with(Array::from<int64_t>({1}, {5}))
                                     .with(Array::from({16, 2}, cosines))
                                     .with(Array::from({16, 2}, sines))
                                     .run();
    const Value expected = rotary(heads(constant(x), 2), {.interleaved = interleaved, .offset = 5});
    EXPECT_TRUE(close(y[0], evaluate(side_by_side(expected)), 1e-5, 1e-5)) << interleaved;
  }
}

TEST_F(OnnxMicrosoft, MatMulNBitsUnpacksBlocks) {
  // Two rows of 32 numbers in two blocks of 16, four bits each.
  std::vector<uint8_t> packed;
  std::vector<float> weights;
  const std::vector<float> scales = {0.5F, 2, 1, 0.25F};
  const std::vector<uint8_t> zeros = {0x83, 0x57};  // low half first: 3, 8 and 7, 5
  const std::vector<int> zero = {3, 8, 7, 5};
  for (int i = 0; i < 64; i += 2) {
    const int low = i * 7 % 16;
    const int high = (i + 1) * 7 % 16;
    packed.push_back(static_cast<uint8_t>(low | high << 4));
    for (const int number : {low, high}) {
      const auto block = weights.size() / 16;
      weights.push_back(static_cast<float>(number - zero[block]) * scales[block]);
    }
  }
  const Array x = random({3, 32});
  const std::vector<Array> y =
      OneNode("MatMulNBits", {attribute("K", int64_t{32}), attribute("N", int64_t{2}), attribute("bits", int64_t{4}),
                              attribute("block_size", int64_t{16})})
          .with(x)
          .with(Array::from({2, 2, 8}, packed))
          .with(Array::from({4}, scales))
          .with(Array::from({2}, zeros))
          .run();
  const Value expected = matmul(constant(x), transpose(constant(Array::from({2, 32}, weights))));
  EXPECT_TRUE(close(y[0], evaluate(expected), 1e-5, 1e-5));
}

/// Columns in any order: the block of each is told.
TEST_F(OnnxMicrosoft, MatMulNBitsWithBlocksOfColumns) {
  for (const int64_t bits : {2, 8}) {
    const int64_t depth = 32;
    const int64_t parts = 8 / bits;
    const int64_t bytes = 16 / parts;
    std::vector<uint8_t> packed(static_cast<size_t>(2 * 2 * bytes));
    std::vector<int32_t> order;
    std::vector<float> weights;
    const std::vector<float> scales = {0.5F, 2, 1, 0.25F};
    for (int64_t row = 0; row < 2; ++row) {
      for (int64_t i = 0; i < depth; ++i) {
        const int64_t number = (i * 7 + row * 3) % (int64_t{1} << bits);
        const int64_t at = row * depth + i;
        packed[static_cast<size_t>(at / parts)] |= static_cast<uint8_t>(number << (at % parts * bits));
        const int64_t block = i % 2;
        if (row == 0) {
          order.push_back(static_cast<int32_t>(block));
        }
        weights.push_back(static_cast<float>(number - (int64_t{1} << (bits - 1))) *
                          scales[static_cast<size_t>(row * 2 + block)]);
      }
    }
    const Array x = random({3, depth});
    const std::vector<Array> y = OneNode("MatMulNBits", {attribute("K", depth), attribute("N", int64_t{2}),
                                                         attribute("bits", bits), attribute("block_size", int64_t{16})})
                                     .with(x)
                                     .with(Array::from({2, 2, bytes}, packed))
                                     .with(Array::from({4}, scales))
                                     .without()
                                     .with(Array::from({depth}, order))
                                     .run();
    const Value expected = matmul(constant(x), transpose(constant(Array::from({2, depth}, weights))));
    EXPECT_TRUE(close(y[0], evaluate(expected), 1e-4, 1e-4)) << bits;
  }
}

/// Integers as the numbers that they mean.
Value meant(const Array& integers, double scale, double zero) { return (cast(constant(integers), f32) - zero) * scale; }

/// With zero points of x and w and a bias, against the convolution of what the integers mean; without zero points, too.
TEST_F(OnnxMicrosoft, ConvolutionOfBytesWithChannelsLast) {
  const Array x = random_array(u8, {2, 5, 6, 4}, rng_, 0, 255);
  const Array w = random_array(i8, {6, 2, 3, 2}, rng_, -100, 100);
  const Array bias = random_array(i32, {6}, rng_, -5000, 5000);
  const std::vector<int64_t> pads = {1, 0, 1, 1};
  for (const bool zeros : {true, false}) {
    OneNode node("QLinearConv", {attribute("channels_last", int64_t{1}), attribute("group", int64_t{2}),
                                 attribute("pads", pads), attribute("strides", std::vector<int64_t>{2, 1})});
    const auto zero = [&](Dtype dtype, double number) {
      zeros ? node.with(Array::scalar(dtype, number)) : node.without();
    };
    node.with(x).with(Array::scalar(f32, 0.5));
    zero(u8, 120);
    node.with(w).with(Array::scalar(f32, 0.25));
    zero(i8, 3);
    node.with(Array::scalar(f32, 128));
    zero(u8, 128);
    node.with(bias);
    const std::vector<Array> y = node.run();
    const Value expected = conv(transpose(meant(x, 0.5, zeros ? 120 : 0), {0, 3, 1, 2}), meant(w, 0.25, zeros ? 3 : 0),
                                {.stride = {2, 1}, .low = {1, 0}, .high = {1, 1}, .groups = 2}) +
                           expand_dims(meant(bias, 0.125, 0), {1, 2});
    const Value steps = clamp(round(expected / 128) + (zeros ? 128 : 0), 0, 255);
    EXPECT_EQ(y[0].dims(), (std::vector<int64_t>{2, 3, 6, 6})) << zeros;
    EXPECT_TRUE(same(y[0], evaluate(cast(transpose(steps, {0, 2, 3, 1}), u8)))) << zeros;
  }
}

TEST_F(OnnxMicrosoft, TriluKeepsATriangle) {
  const Array x = random({2, 3, 4});
  const std::vector<Array> y = OneNode("Trilu", {attribute("upper", int64_t{0})}).with(x).run();
  EXPECT_TRUE(same(y[0], evaluate(tril(constant(x)))));
}

/// A table of 5 rows of 40 numbers of four bits in blocks of 16, the last of them short; zero points fill two bytes.
TEST_F(OnnxMicrosoft, RowsOfATableOfBlocks) {
  const Array packed = random_array(u8, {5, 20}, rng_, 0, 255);
  const Array scales = random({5, 3});
  const Array zeros = random_array(u8, {5, 2}, rng_, 0, 255);
  const Array rows = Array::from<int64_t>({2, 2}, {4, 0, 3, -1});
  for (const bool with_zeros : {true, false}) {
    OneNode node("GatherBlockQuantized", {attribute("block_size", int64_t{16}), attribute("bits", int64_t{4})});
    node.with(packed).with(rows).with(scales);
    if (with_zeros) {
      node.with(zeros);
    }
    const Array y = node.run()[0];
    ASSERT_EQ(y.dims(), (std::vector<int64_t>{2, 2, 40}));
    const auto nibble = [](const Array& bytes, int64_t row, int64_t i) {
      const auto byte = static_cast<int>(bytes.at(row * bytes.dims()[1] + i / 2));
      return i % 2 == 0 ? byte % 16 : byte / 16;
    };
    for (int64_t i = 0; i < y.size(); ++i) {
      const int64_t row = (rows.values<int64_t>()[static_cast<size_t>(i / 40)] + 5) % 5;
      const int64_t column = i % 40;
      const int zero = with_zeros ? nibble(zeros, row, column / 16) : 8;
      const double expected = (nibble(packed, row, column) - zero) * scales.at(row * 3 + column / 16);
      EXPECT_NEAR(y.at(i), expected, 1e-5) << i;
    }
  }
}

/// One number a byte, quantised along the axis that rows are taken of.
TEST_F(OnnxMicrosoft, RowsOfATableOfBlocksOfRows) {
  const Array table = random_array(i8, {32, 3}, rng_, -8, 7);
  const Array scales = random({2, 3});
  const std::vector<Array> y =
      OneNode("GatherBlockQuantized", {attribute("block_size", int64_t{16}), attribute("quantize_axis", int64_t{0})})
          .with(table)
          .with(Array::from<int32_t>({2}, {20, 1}))
          .with(scales)
          .run();
  ASSERT_EQ(y[0].dims(), (std::vector<int64_t>{2, 3}));
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t row = i < 3 ? 20 : 1;
    EXPECT_NEAR(y[0].at(i), table.at(row * 3 + i % 3) * scales.at(row / 16 * 3 + i % 3), 1e-5) << i;
  }
}

}  // namespace
}  // namespace tenon::microsoft_test
