// Attention, compiled: every mask, heads in groups, lengths around blocks, gradients, and what it takes of memory.
#include <gtest/gtest.h>

#include <limits>

#include "support/arrays.h"
#include "support/compiled.h"
#include "tenon/autodiff.h"
#include "tenon/nn.h"

namespace tenon::attention_test {
namespace {

enum class Mask : uint8_t { none, seen, added, padding };

struct AttentionCase {
  const char* name;
  Mask mask = Mask::none;
  bool causal = false;
  int64_t heads = 2;
  int64_t kv_heads = 2;
  int64_t depth = 8;
  int64_t value_depth = 8;
};

Graph graph_of(const AttentionCase& c) {
  std::vector<Value> inputs{input("q", shape(f32, "batch", c.heads, "query", c.depth)),
                            input("k", shape(f32, "batch", c.kv_heads, "key", c.depth)),
                            input("v", shape(f32, "batch", c.kv_heads, "key", c.value_depth))};
  AttentionOptions options{.causal = c.causal};
  if (c.mask == Mask::seen) {
    inputs.push_back(input("mask", shape(boolean, "batch", 1, "query", "key")));
  } else if (c.mask == Mask::added) {
    inputs.push_back(input("mask", shape(f32, c.heads, "query", "key")));
  } else if (c.mask == Mask::padding) {
    inputs.push_back(input("mask", shape(boolean, "batch", 1, 1, "key")));
  }
  if (c.mask != Mask::none) {
    options.mask = inputs.back();
  }
  return {c.name, inputs, {{"y", attention(inputs[0], inputs[1], inputs[2], options)}}};
}

/// Some queries see no key: whole rows of the mask hide all.
std::vector<Array> inputs_of(const Graph& graph, const Bindings& bindings) {
  std::mt19937_64 rng(31);
  std::vector<Array> inputs;
  for (const Value& in : graph.inputs()) {
    const std::vector<int64_t> dims = resolve(in.shape(), bindings).dims();
    Array x = random_array(in.dtype(), dims, rng, -2, 2);
    const int64_t keys = dims.empty() ? 0 : dims.back();
    const auto hides = [&](size_t i) { return rng() % 3 == 0 || i / static_cast<size_t>(keys) % 4 == 1; };
    if (in.dtype() == boolean) {
      for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
        x.mutable_values<bool>()[i] = !hides(i);
      }
    } else if (in.rank() == 3) {
      for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
        x.mutable_values<float>()[i] = hides(i) ? -std::numeric_limits<float>::infinity() : x.values<float>()[i];
      }
    }
    inputs.push_back(std::move(x));
  }
  return inputs;
}

class Attentions : public testing::TestWithParam<AttentionCase> {};

Bindings lengths(int64_t batch, int64_t query, int64_t key) {
  return {{"batch", batch}, {"query", query}, {"key", key}};
}

constexpr double kOfLargest = 1e-5;

TEST_P(Attentions, EqualTheInterpreter) {
  std::vector<Bindings> at{lengths(0, 3, 3), lengths(2, 513, 7), lengths(1, 7, 513), lengths(1, 65, 64)};
  for (const int64_t query : {0, 1, 7, 64}) {
    for (const int64_t key : {0, 1, 7, 65}) {
      at.push_back(lengths(2, query, key));
    }
  }
  EXPECT_TRUE(matches_every_way(graph_of(GetParam()),
                                {.relative = 1e-4, .of_largest = kOfLargest, .at = at, .inputs = inputs_of}));
}

TEST_P(Attentions, GradientsEqualTheInterpreter) {
  const Graph gradients = differentiate(graph_of(GetParam()), {.inputs = {"q", "k", "v"}, .seed_input = true});
  const std::vector<Bindings> at{lengths(0, 3, 3), lengths(2, 0, 7),   lengths(2, 7, 0),   lengths(2, 1, 1),
                                 lengths(2, 7, 9), lengths(1, 65, 64), lengths(1, 33, 140)};
  EXPECT_TRUE(
      matches_every_way(gradients, {.relative = 1e-3, .of_largest = kOfLargest, .at = at, .inputs = inputs_of}));
}

INSTANTIATE_TEST_SUITE_P(
    All, Attentions,
    testing::Values(AttentionCase{.name = "plain"}, AttentionCase{.name = "causal", .causal = true},
                    AttentionCase{.name = "mask_of_bool", .mask = Mask::seen},
                    AttentionCase{.name = "mask_added", .mask = Mask::added},
                    AttentionCase{.name = "padding", .mask = Mask::padding},
                    AttentionCase{.name = "causal_and_padding", .mask = Mask::padding, .causal = true},
                    AttentionCase{.name = "groups", .heads = 6, .kv_heads = 2},
                    AttentionCase{.name = "one_head_of_keys", .causal = true, .heads = 3, .kv_heads = 1},
                    AttentionCase{.name = "other_values", .depth = 16, .value_depth = 5},
                    AttentionCase{.name = "odd_depth", .mask = Mask::added, .depth = 7, .value_depth = 33}),
    [](const auto& each) { return std::string(each.param.name); });

/// Causal masks that let nobody see anything: fewer keys than queries.
TEST(AttentionMasks, QueriesBeforeTheFirstKeyGiveZeros) {
  const Graph graph = graph_of({.name = "causal", .causal = true});
  const Array y = compile(graph, {.disk_cache = false}).run(inputs_of(graph, lengths(1, 5, 3)))[0];
  for (int64_t head = 0; head < 2; ++head) {
    for (int64_t i = 0; i < 2 * 8; ++i) {
      EXPECT_EQ(y.at(head * 5 * 8 + i), 0) << "element " << i << " of head " << head;
    }
    EXPECT_NE(y.at(head * 5 * 8 + 2 * 8), 0);
  }
}

class AttentionMemory : public testing::TestWithParam<AttentionCase> {};

void expect_linear(const Graph& graph, int kernels) {
  const Executable executable = compile(graph, {.native = false});
  EXPECT_EQ(executable.kernel_count(), kernels) << executable.explain();
  const auto bytes = [&](int64_t length) { return executable.memory(lengths(1, length, length)).arena_bytes; };
  EXPECT_LE(bytes(4096), 4 * bytes(1024) + 4096) << executable.explain();
}

/// Nothing between kernels is as large as queries by keys.
TEST_P(AttentionMemory, DoesNotGrowWithQueriesTimesKeys) { expect_linear(graph_of(GetParam()), 1); }

/// Scores are computed again where keys' and values' gradients sum over queries.
TEST_P(AttentionMemory, OfGradientsDoesNotEither) {
  expect_linear(differentiate(graph_of(GetParam()), {.inputs = {"q", "k", "v"}, .seed_input = true}), 2);
}

INSTANTIATE_TEST_SUITE_P(All, AttentionMemory,
                         testing::Values(AttentionCase{.name = "plain"},
                                         AttentionCase{.name = "causal", .causal = true},
                                         AttentionCase{.name = "mask_of_bool", .mask = Mask::seen},
                                         AttentionCase{.name = "mask_added", .mask = Mask::added},
                                         AttentionCase{.name = "groups", .heads = 6, .kv_heads = 2}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tenon::attention_test
