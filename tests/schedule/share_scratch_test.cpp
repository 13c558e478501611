// Which scratch is used again: kernels before and after.
#include "schedule/nest/share_scratch.h"

#include <gtest/gtest.h>

#include "kernel/loop/loop_parse.h"

namespace tenon::schedule::share_scratch_test {
namespace {

std::string shared(std::string_view text) {
  loops::Kernel kernel = loops::parse_kernel(text);
  loops::verify(kernel);
  share_scratch(kernel);
  loops::verify(kernel);
  return to_string(kernel);
}

/// The third tile takes the place of the first, and what follows is counted anew.
TEST(ShareScratch, WhatIsNoLongerNeededIsUsedAgain) {
  EXPECT_EQ(shared(R"(kernel chain
  axes    i: 4   j: 4   k: 4
  buffers b0 in f32[16]   b1 scratch u8[64]   b2 scratch f32[16]   b3 scratch f32[16]   b4 scratch f32[16]   b5 out f32[16]
  phase grid()
    b2[0 + (4, 1)] = b0[0 + (4, 1)] * b0[0 + (4, 1)] over i by j by k
    b3[0 + (4, 1)] = b2[0 + (4, 1)] * b0[0 + (4, 1)] over i by j by k
    b4[0 + (4, 1)] = b3[0 + (4, 1)] * b0[0 + (4, 1)] over i by j by k
    b5[0 + (4, 1)] = b4[0 + (4, 1)] * b0[0 + (4, 1)] over i by j by k
)"),
            R"(kernel chain
  axes    i: 4   j: 4   k: 4
  buffers b0 in f32[16]   b1 scratch u8[64]   b2 scratch f32[16]   b3 scratch f32[16]   b4 out f32[16]
  phase grid()
    b2[0 + (4, 1)] = b0[0 + (4, 1)] * b0[0 + (4, 1)] over i by j by k
    b3[0 + (4, 1)] = b2[0 + (4, 1)] * b0[0 + (4, 1)] over i by j by k
    b2[0 + (4, 1)] = b3[0 + (4, 1)] * b0[0 + (4, 1)] over i by j by k
    b4[0 + (4, 1)] = b2[0 + (4, 1)] * b0[0 + (4, 1)] over i by j by k
)");
}

/// Rows that one loop writes and reads are in use as long as it runs; other sizes and dtypes have other places.
TEST(ShareScratch, WhatIsInUseAtOnceOrOfOtherSizesStays) {
  const std::string text = R"(kernel rows
  axes    i: 4   j: 4
  buffers b0 in f32[16]   b1 scratch f32[4]   b2 scratch f32[4]   b3 scratch f32[8]   b4 scratch i32[4]   b5 out f32[16]
  phase grid()
    loop i
      loop j
        v0 = load b0[4*i + j]
        b1[j] = v0
      loop j
        v1 = load b1[j]
        b2[j] = v1
      loop j
        v2 = load b2[j]
        b5[4*i + j] = v2
    loop j
      v3 = load b0[j]
      b3[j] = v3
      v4 = position j
      v5 = cast i32 v4
      b4[j] = v5
)";
  EXPECT_EQ(shared(text), text);
}

/// One thread may read there what another one would have overwritten.
TEST(ShareScratch, WhatBelongsToABlockStays) {
  const std::string text = R"(kernel mapped
  axes    t: 4 threads
  buffers b0 in f32[4]   b1 block scratch f32[4]   b2 block scratch f32[4]   b3 out f32[4]
  phase grid()
    loop t
      v0 = load b0[t]
      b1[t] = v0
    barrier
    loop t
      v1 = load b1[-t + 3]
      b3[t] = v1
    loop t
      v2 = load b0[t]
      b2[t] = v2
)";
  EXPECT_EQ(shared(text), text);
}

}  // namespace
}  // namespace tenon::schedule::share_scratch_test
