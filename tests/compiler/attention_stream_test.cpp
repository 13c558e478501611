// Two products with a softmax between them whose rows are taken in blocks, against the interpreter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "passes/inline_calls.h"
#include "schedule/schedule.h"
#include "support/arrays.h"
#include "support/compiled.h"
#include "support/small_graph.h"

namespace tenon::attention_stream_test {
namespace {

constexpr const char* kInputs = "q: f32[b, s, 8], k: f32[b, t, 8], v: f32[b, t, e]";

/// All are streamed where `blocks` says so: two products in one loop over blocks of keys.
struct StreamCase {
  SmallGraph graph;
  bool blocks = true;
};
void PrintTo(const StreamCase& each, std::ostream* out) { *out << each.graph.name; }

std::vector<Bindings> lengths() {
  std::vector<Bindings> at;
  for (const int64_t keys : {0, 1, 31, 255, 256, 257, 512, 513, 1100}) {
    at.push_back({{"b", 2}, {"s", 3}, {"t", keys}, {"e", keys % 7}});
  }
  for (const int64_t queries : {0, 1, 159, 160, 161, 333}) {
    at.push_back({{"b", 1}, {"s", queries}, {"t", 300}, {"e", 400}});
  }
  return at;
}

class StreamedProducts : public testing::TestWithParam<StreamCase> {};

TEST_P(StreamedProducts, EqualTheInterpreter) {
  EXPECT_TRUE(matches_every_way(make(GetParam().graph), {.relative = 1e-4, .of_largest = 1e-5, .at = lengths()}));
}

/// Elements that are no numbers, alone in a block, in several, and as all of a block or of a row.
TEST_P(StreamedProducts, PassOnNanAndInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float specials[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()};
  for (const float special : specials) {
    const auto inputs = [&](const Graph& graph, const Bindings& bindings) {
      std::mt19937_64 rng(7);
      std::vector<Array> arrays;
      for (const Value& in : graph.inputs()) {
        Array x = random_array(in.dtype(), resolve(in.shape(), bindings).dims(), rng, 0.25, 2);
        if (arrays.size() == 1) {  // keys: a whole block of some batches, and one here and there
          const auto values = x.mutable_values<float>();
          for (size_t i = 0; i < values.size(); ++i) {
            const bool in_block = i / (8 * 256) % 3 == 1 && i / (8 * 513) % 2 == 0;
            values[i] = in_block || i % 1931 == 77 ? special : values[i];
          }
        }
        arrays.push_back(std::move(x));
      }
      return arrays;
    };
    const CompiledCheck check{
        .relative = 1e-4, .of_largest = 1e-5, .at = {{{"b", 3}, {"s", 4}, {"t", 513}, {"e", 3}}}, .inputs = inputs};
    EXPECT_TRUE(matches_every_way(make(GetParam().graph), check)) << special;
  }
}

TEST_P(StreamedProducts, AreTheSameBitsForAnyNumberOfThreads) {
  const Graph graph = make(GetParam().graph);
  const Executable executable = compile(graph, {.disk_cache = false, .least_shared_work = 0});
  std::mt19937_64 rng(3);
  std::vector<Array> inputs;
  for (const Value& in : graph.inputs()) {
    const Bindings at{{"b", 2}, {"s", 350}, {"t", 700}, {"e", 9}};
    inputs.push_back(random_array(in.dtype(), resolve(in.shape(), at).dims(), rng, -2, 2));
  }
  EXPECT_TRUE(same_for_any_threads(executable, inputs));
}

/// Where they are not streamed, too: all dtypes give what the interpreter gives.
TEST_P(StreamedProducts, MatchInOtherDtypes) {
  for (const auto& [dtype, error] : {std::pair("f64", 1e-10), {"f16", 2e-2}, {"bf16", 1e-1}}) {
    SmallGraph text = GetParam().graph;
    for (size_t at = 0; (at = text.inputs.find("f32", at)) != std::string::npos;) {
      text.inputs.replace(at, 3, dtype);
    }
    const std::vector<Bindings> at{{{"b", 2}, {"s", 5}, {"t", 300}, {"e", 3}},
                                   {{"b", 1}, {"s", 3}, {"t", 0}, {"e", 2}}};
    EXPECT_TRUE(compiled_matches(make(text), {.relative = error, .absolute = error, .of_largest = error, .at = at}))
        << dtype;
  }
}

bool streams(const loops::Block& block) {
  return std::ranges::any_of(block, [](const loops::Statement& statement) {
    const auto* loop = std::get_if<loops::Loop>(&statement.what);
    return loop && std::ranges::count_if(loop->body, [](const loops::Statement& inner) {
                     return std::holds_alternative<loops::Product>(inner.what);
                   }) == 2;
  });
}

TEST_P(StreamedProducts, AreInALoopOverBlocks) {
  const Program program = schedule::make_program(passes::inline_calls(make(GetParam().graph)));
  const auto found = std::ranges::find_if(program.kernels, [](const loops::Kernel& kernel) {
    return std::ranges::any_of(kernel.phases, [](const loops::Phase& phase) { return streams(phase.body); });
  });
  EXPECT_EQ(found != program.kernels.end(), GetParam().blocks);
  if (GetParam().blocks) {
    ASSERT_EQ(program.steps.size(), 1);
    const loops::Kernel& kernel = *found;
    const Extent scratch = scratch_bytes(kernel).substitute(kernel.arguments);
    for (const int64_t keys : {1000, 1'000'000'000}) {
      for (const int64_t width : {8, 300, 1000, 50'000}) {
        EXPECT_LE(evaluate(scratch, {{"b", 2}, {"s", 4096}, {"t", keys}, {"e", width}}), kMostScratch) << width;
      }
    }
  }
}

/// What half-precision attention needs of a thread, in whichever form runs at these sizes.
int64_t scratch_at(const Program& program, const Bindings& at) {
  const std::span<const LaunchPart> parts = parts_of(program.steps.at(0));
  const bool is_long = parts.size() == 2 && evaluate(parts[1].row_bytes, at) > program.most_row_bytes;
  const loops::Kernel& kernel = program.kernels.at(static_cast<size_t>(parts[is_long ? 1 : 0].kernel));
  return evaluate(scratch_bytes(kernel).substitute(kernel.arguments), at);
}

SmallGraph half_attention(const std::string& dtype, const std::string& depth, const std::string& keys) {
  return {dtype, fmt::format("q: {0}[b, s, {1}], k: {0}[b, {2}, {1}], v: {0}[b, {2}, e]", dtype, depth, keys),
          "y = attention(q, k, v)"};
}

/// Values that must be widened first are, a block at a time: few of them where they are wide.
TEST(StreamedHalfPrecision, StaysInBoundedScratch) {
  for (const char* const dtype : {"f16", "bf16"}) {
    for (const char* const depth : {"8", "64", "256"}) {
      for (const char* const static_keys : {"", "100", "256", "1000"}) {
        const bool is_static = *static_keys != 0;
        const Program program = schedule::make_program(
            passes::inline_calls(make(half_attention(dtype, depth, is_static ? static_keys : "t"))));
        ASSERT_EQ(program.steps.size(), 1);
        for (const int64_t keys : {1, 33, 160, 256, 257, 1000, 100'000}) {
          for (const int64_t width : {1, 8, 64, 128, 300, 1000, 1024, 1500, 2048, 3000, 4096, 16384}) {
            for (const int64_t queries : {1, 17, 4096}) {
              EXPECT_LE(scratch_at(program, {{"b", 2}, {"s", queries}, {"t", keys}, {"e", width}}), kMostScratch)
                  << dtype << ", depth " << depth << ", " << (is_static ? static_keys : std::to_string(keys))
                  << " keys, " << queries << " queries, width " << width;
            }
          }
        }
      }
    }
  }
}

TEST(StreamedHalfPrecision, EqualsTheInterpreterWhereValuesAreWide) {
  for (const auto& [dtype, error] : {std::pair("f16", 2e-2), {"bf16", 1e-1}}) {
    CompiledCheck check{.relative = error, .absolute = error, .of_largest = error};
    for (const int64_t width : {1000, 2049, 4096}) {
      check.at.push_back({{"b", 1}, {"s", 3}, {"e", width}});
    }
    EXPECT_TRUE(compiled_matches(make(half_attention(dtype, "8", "100")), check)) << dtype;
    for (Bindings& at : check.at) {
      at.set("t", 300);
    }
    for (const int64_t keys : {0, 1, 40, 200}) {
      check.at.push_back({{"b", 2}, {"s", 70}, {"e", 1500}, {"t", keys}});
    }
    EXPECT_TRUE(compiled_matches(make(half_attention(dtype, "8", "t")), check)) << dtype;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, StreamedProducts,
    testing::Values(
        StreamCase{{"softmax", kInputs, "y = matmul(softmax(matmul(q, transpose(k, axes=[0, 2, 1]))), v)"}},
        StreamCase{{"attention", kInputs, "y = attention(q, k, v)"}},
        StreamCase{{"attention_with_nan", kInputs, "y = attention(q, k, v, zeros=false)"}},
        StreamCase{{"with_epilogue", kInputs, "y = tanh(attention(q, k, v))"}},
        StreamCase{{"scores_changed", kInputs,
                    "s = tanh(matmul(q, transpose(k, axes=[0, 2, 1]))); y = matmul(softmax(s), v)"}},
        // What is known at the end of a row is stored beside it.
        StreamCase{
            {"with_logsumexp", kInputs,
             "s = matmul(q, transpose(k, axes=[0, 2, 1])); y = matmul(softmax(s), v); y2 = logsumexp(s, axes=[2])"}},
        StreamCase{
            {"with_largest_and_sum", kInputs,
             "s = matmul(q, transpose(k, axes=[0, 2, 1])); m = reduce_max(s, axes=[2], keep=true); "
             "e = exp(sub(s, m)); y1 = reduce_sum(e, axes=[2]); y = matmul(div(e, reshape(y1, to=[b, s, 1])), v); "
             "y2 = mul(m, 2)"}},
        StreamCase{{"with_scaled_logsumexp", kInputs,
                    "s = mul(matmul(q, transpose(k, axes=[0, 2, 1])), 0.25); y = tanh(matmul(softmax(s), v)); "
                    "y2 = exp(neg(logsumexp(s, axes=[2])))"}},
        // More is asked of a row than what a softmax knows.
        StreamCase{{"with_mean", kInputs,
                    "s = matmul(q, transpose(k, axes=[0, 2, 1])); y = matmul(softmax(s), v); "
                    "y2 = reduce_mean(s, axes=[2])"},
                   false},
        StreamCase{
            {"scores_kept", kInputs, "s = softmax(matmul(q, transpose(k, axes=[0, 2, 1]))); y = matmul(s, v); y2 = s"},
            false},
        StreamCase{{"few_keys", "q: f32[b, s, 8], k: f32[b, 64, 8], v: f32[b, 64, e], z: f32[t]",
                    "y = attention(q, k, v); y2 = neg(z)"},
                   false},
        StreamCase{{"of_sigmoids", kInputs, "y = matmul(sigmoid(matmul(q, transpose(k, axes=[0, 2, 1]))), v)"}, false}),
    [](const auto& each) { return each.param.graph.name; });

}  // namespace
}  // namespace tenon::attention_stream_test
