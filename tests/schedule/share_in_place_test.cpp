// Which scratch is written in place of another.
#include "schedule/nest/share_in_place.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "compiler/pipeline.h"
#include "kernel/loop/loop_parse.h"
#include "schedule/schedule.h"
#include "support/small_graph.h"

namespace tenon::schedule::share_in_place_test {
namespace {

constexpr int kTile = 3;    // that the product leaves,
constexpr int kStored = 4;  // and what is made of it

constexpr std::string_view kExpOfAProduct = R"(kernel exp of a product
  axes    i: 4   j: 4   k: 4
  buffers b0 in f32[16]   b1 in f32[16]   b2 scratch u8[524288]   b3 scratch f32[16]   b4 scratch f32[16]   b5 out f32[16]
  phase grid()
    b3[0 + (4, 1)] = b0[0 + (4, 1)] * b1[0 + (4, 1)] over i by j by k
    loop i
      loop j
        v0 = load b3[4*i + j]
        v1 = exp v0
        b4[4*i + j] = v1
    loop i
      loop j
        v2 = load b4[4*i + j]
        b5[4*i + j] = v2
)";

int place_of_stored(std::string_view text) {
  const loops::Kernel kernel = loops::parse_kernel(text);
  loops::verify(kernel);
  return find_in_place(kernel)[kStored];
}

/// In the kernel above with other words in the place of some.
int place_of_stored(std::string_view from, std::string_view to) {
  std::string text(kExpOfAProduct);
  text.replace(text.find(from), from.size(), to);
  return place_of_stored(text);
}

TEST(ShareInPlace, WhatIsReadForTheLastTimeGivesItsPlace) { EXPECT_EQ(place_of_stored(kExpOfAProduct), kTile); }

TEST(ShareInPlace, WhatIsReadAgainStays) {
  EXPECT_EQ(place_of_stored("v2 = load b4", "v0 = load b3[4*i + j]\n        v2 = load b4"), kStored);
}

TEST(ShareInPlace, OtherPlacesAreNoPlaceForIt) {
  EXPECT_EQ(place_of_stored("b4[4*i + j] = v1", "b4[i + 4*j] = v1"), kStored);
}

TEST(ShareInPlace, ATileThatIsAddedToStays) {
  EXPECT_EQ(place_of_stored(R"(kernel exp of a product
  axes    i: 4   j: 4   k: 4   block: 2
  buffers b0 in f32[16]   b1 in f32[16]   b2 scratch u8[524288]   b3 scratch f32[16]   b4 scratch f32[16]   b5 out f32[16]
  phase grid()
    loop block
      b3[0 + (4, 1)] += b0[0 + (4, 1)] * b1[0 + (4, 1)] over i by j by k after the first block
      loop i
        loop j
          v0 = load b3[4*i + j]
          v1 = exp v0
          b4[4*i + j] = v1
      loop i
        loop j
          v2 = load b4[4*i + j]
          b5[4*i + j] = v2
)"),
            kStored);
}

TEST(ShareInPlace, AnotherDtypeStays) { EXPECT_EQ(place_of_stored("b4 scratch f32", "b4 scratch f16"), kStored); }

/// Two products, a softmax between: the scores and what they become are one tile.
TEST(ShareInPlace, AttentionHasOneTileOfScores) {
  for (const char* const dtype : {"f32", "f64"}) {
    std::vector<PassRun> runs;
    const std::string inputs =
        std::string("q: ") + dtype + "[b, s, 64], k: " + dtype + "[b, t, 64], v: " + dtype + "[b, t, 64]";
    const Program program =
        make_program(compiler::optimize(make({"attention", inputs, "y = attention(q, k, v)"}), {}, runs));
    ASSERT_EQ(program.kernels.size(), 2U);
    Bindings bindings;
    bindings.set("b", 2);
    bindings.set("s", 5000);
    bindings.set("t", 5000);
    const loops::Kernel& streamed = program.kernels[1];
    const int64_t bytes = evaluate(loops::scratch_bytes(streamed).substitute(streamed.arguments), bindings);
    EXPECT_LE(bytes, int64_t{1} << 20) << dtype;
    EXPECT_GT(bytes, kProductScratchBytes) << dtype;
  }
}

}  // namespace
}  // namespace tenon::schedule::share_in_place_test
