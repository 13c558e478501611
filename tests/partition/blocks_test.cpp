// Blocks of networks with several activations at a time: branches of different resolutions, an encoder and a decoder.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/random_dag.h"
#include "tenon/convolution.h"
#include "tenon/elementwise.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/partition.h"

namespace tenon::partition::blocks_test {
namespace {

Value weights(std::vector<int64_t> dims) { return constant(Array::full(f32, std::move(dims), 0.01)); }

Value conv3(const Value& x, int64_t from, int64_t to, int64_t stride = 1) {
  return conv(x, weights({to, from, 3, 3}), {.stride = {stride, stride}, .low = {1, 1}, .high = {1, 1}});
}

Value basic_block(const Value& x, int64_t channels) {
  return relu(conv3(relu(conv3(x, channels, channels)), channels, channels) + x);
}

/// Two blocks in each branch, then every branch gets what the others have, at its resolution.
std::vector<Value> exchange(std::vector<Value> branches) {
  for (size_t i = 0; i < branches.size(); ++i) {
    branches[i] = basic_block(basic_block(branches[i], int64_t{8} << i), int64_t{8} << i);
  }
  std::vector<Value> result;
  for (size_t to = 0; to < branches.size(); ++to) {
    Value sum = branches[to];
    for (size_t from = 0; from < branches.size(); ++from) {
      if (from > to) {
        const Value thin = conv(branches[from], weights({int64_t{8} << to, int64_t{8} << from, 1, 1}));
        const auto scale = static_cast<double>(int64_t{1} << (from - to));
        sum = sum + resize_by(thin, {2, 3}, {{scale, 1}, {scale, 1}}, {.mode = "linear"});
      } else if (from < to) {
        Value small = branches[from];
        for (size_t k = from; k < to; ++k) {
          small = conv3(small, int64_t{8} << k, int64_t{8} << (k + 1), 2);
        }
        sum = sum + small;
      }
    }
    result.push_back(relu(sum));
  }
  return result;
}

std::vector<size_t> sizes_of(const Plan& plan) {
  std::vector<size_t> sizes;
  for (const Part& part : plan.parts) {
    sizes.push_back(part.operators.size());
  }
  return sizes;
}

TEST(Blocks, AreFoundInBranchesOfSeveralResolutions) {
  const Value image = input("image", shape(f32, 1, 8, 32, 32));
  const Value stem = basic_block(basic_block(image, 8), 8);
  std::vector<Value> branches{stem, relu(conv3(stem, 8, 16, 2))};
  branches = exchange(branches);
  branches.push_back(relu(conv3(branches[1], 16, 32, 2)));
  branches = exchange(exchange(branches));
  const Value head =
      conv(branches[0], weights({4, 8, 1, 1})) +
      conv(resize_by(branches[1], {2, 3}, {{2, 1}, {2, 1}}, {.mode = "linear"}), weights({4, 16, 1, 1})) +
      conv(resize_by(branches[2], {2, 3}, {{4, 1}, {4, 1}}, {.mode = "linear"}), weights({4, 32, 1, 1}));
  const WorkGraph work = work_graph(Graph("branches", {image}, {{.name = "y", .value = head}}));
  const Plan plan = make_plan(work, {}, roomy_profile(), {.fuse = {"none"}, .by = "blocks"});
  const std::vector<size_t> sizes = sizes_of(plan);
  EXPECT_GE(std::ranges::count(sizes, 5U), 2 + 2 * 2 + 2 * 2 * 3 - 3) << "blocks of two convolutions, an addition";
  EXPECT_LE(std::ranges::max(sizes), 24U) << "an exchange of three branches";
}

struct Projection {
  Value operator()(const Value& x) const { return dense(x, w, b); }
  Value w, b;
};

Projection projection(int64_t from, int64_t to, int seed) {
  return {constant(Array::full(f32, {from, to}, 0.01 * (seed + 1))), constant(Array::full(f32, {to}, 0.01 * seed))};
}

/// Keys and values of `memory`; `places` are added to queries and keys, in every layer again.
Value attend(const Value& x, const Value& memory, const Value& places, int seed) {
  const Value mixed = attention(projection(32, 32, seed)(x), projection(32, 32, seed + 1)(memory + places),
                                projection(32, 32, seed + 2)(memory));
  return layer_norm(x + projection(32, 32, seed + 3)(mixed));
}

Value feed_forward(const Value& x, int seed) {
  return layer_norm(x + projection(64, 32, seed)(relu(projection(32, 64, seed + 1)(x))));
}

TEST(Blocks, AreTheLayersOfAnEncoderAndOfADecoder) {
  const Value image = input("image", shape(f32, 1, 49, 32));
  const Value places = input("places", shape(f32, 1, 49, 32));
  const Value queries = input("queries", shape(f32, 1, 20, 32));
  const Value where = tanh(places);
  Value memory = image;
  for (int layer = 0; layer < 4; ++layer) {
    memory = feed_forward(attend(memory, memory, where, 10 * layer), 10 * layer + 5);
  }
  Value x = queries;
  for (int layer = 0; layer < 4; ++layer) {
    const int seed = 100 + 20 * layer;
    x = feed_forward(attend(attend(x, x, queries, seed), memory, where, seed + 5), seed + 10);
  }
  const WorkGraph work = work_graph(Graph("detector", {image, places, queries}, {{.name = "y", .value = x}}));
  const Plan plan = make_plan(work, {}, roomy_profile(), {.fuse = {"none"}, .by = "blocks"});
  const std::vector<size_t> sizes = sizes_of(plan);
  EXPECT_GE(std::ranges::count(sizes, 16U), 3) << testing::PrintToString(sizes);  // layers of the encoder
  EXPECT_GE(std::ranges::count(sizes, 26U), 2) << testing::PrintToString(sizes);  // ... and of the decoder
  EXPECT_LE(std::ranges::max(sizes), 26U) << testing::PrintToString(sizes);
  // What leaves a layer of the decoder goes along with the memory and its places.
  EXPECT_NE(plan.parts[0].why.find(" leave"), std::string::npos) << plan.parts[0].why;
}

TEST(Blocks, SayHowMuchLeavesThem) {
  const Value x = input("x", shape(f32, 1, 8, 16, 16));
  const Value a = basic_block(basic_block(basic_block(x, 8), 8), 8);
  const WorkGraph work = work_graph(Graph("chain", {x}, {{.name = "y", .value = conv3(a, 8, 4)}}));
  const Plan plan = make_plan(work, {}, roomy_profile(), {.fuse = {"none"}, .by = "blocks"});
  ASSERT_GE(plan.parts.size(), 3U);
  EXPECT_EQ(plan.parts[0].why, "1 activation of 8192 bytes leaves here");
}

}  // namespace
}  // namespace tenon::partition::blocks_test
