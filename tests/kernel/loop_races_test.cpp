// Races that the interpreter finds, each in a kernel that is right but for one line.
#include <gtest/gtest.h>

#include <array>

#include "kernel/loop/loop_parse.h"
#include "kernel/loop/loop_run.h"
#include "support/loop_launch.h"
#include "support/mapped_kernels.h"
#include "tenon/bindings.h"
#include "tenon/error.h"

namespace tenon::loop_races_test {
namespace {

using loops::RaceSearch;

std::string complaint(const loops::Kernel& kernel, RaceSearch search = RaceSearch::in_blocks) {
  const Bindings bindings = {{"rows", 20}, {"cols", 20}};
  std::vector<Array> buffers = make_buffers(kernel, bindings, 3);
  try {
    launch(kernel, loops::interpreted(kernel, search), bindings, buffers);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no complaint";
}

std::string complaint(std::string_view text) { return complaint(loops::parse_kernel(text)); }

/// Of a kernel with five blocks and two buffers of constant sizes, which lie in the same place.
std::string complaint_in_place(std::string_view text) {
  std::vector<float> memory(20);
  const std::array<void*, 2> buffers = {memory.data(), memory.data()};
  KernelStatus status;
  const KernelArgs args{.buffers = buffers.data(), .sizes = nullptr, .status = &status};
  try {
    loops::interpreted(loops::parse_kernel(text))(&args, 0, 0, 5, nullptr);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no complaint";
}

/// The kernel with the `number`th `from` replaced.
std::string changed(const LoopCase& each, const std::string& from, const std::string& to, int number = 0) {
  std::string text = to_string(each.kernel);
  size_t at = text.find(from);
  for (; number > 0; --number) {
    at = text.find(from, at + 1);
  }
  return text.replace(at, from.size(), to);
}

#define EXPECT_RACE(said, text)                            \
  do {                                                     \
    const std::string what = said;                         \
    EXPECT_NE(what.find(text), std::string::npos) << what; \
  } while (false)

TEST(LoopRaces, ThereAreNoneInWhatIsRight) {
  for (const LoopCase& each : mapped_cases()) {
    EXPECT_EQ(complaint(each.kernel), "no complaint") << each.name;
  }
}

/// Iterations of grids on CPUs are independent, too.
TEST(LoopRaces, ThereAreNoneOfGrids) {
  for (const LoopCase& each : loop_cases()) {
    const Bindings bindings = {{"rows", 5}, {"cols", 300}};
    std::vector<Array> buffers = make_buffers(each.kernel, bindings, 7);
    each.prepare(bindings, buffers);
    EXPECT_NO_THROW(launch(each.kernel, loops::interpreted(each.kernel, RaceSearch::always), bindings, buffers))
        << each.name;
  }
}

TEST(LoopRaces, WhatOthersWroteIsReadBehindABarrier) {
  EXPECT_RACE(
      complaint(changed(mapped_transpose_case(), "    barrier\n", "")),
      "kernel `mapped_transpose`: b2[9] is written by thread 8 of block 0 and read by thread 1 of block 0, with "
      "no barrier between");
}

TEST(LoopRaces, WhatOthersReadIsOverwrittenBehindABarrier) {
  const LoopCase product = mapped_product_case();
  EXPECT_RACE(complaint(changed(product, "      barrier\n", "", 0)), "with no barrier between");
  EXPECT_RACE(
      complaint(changed(product, "      barrier\n", "", 1)),
      "kernel `mapped_product`: b3[0] is read by thread 7 of block 0 and written by thread 0 of block 0, with no "
      "barrier between");
}

TEST(LoopRaces, ThreadsWriteElementsOfTheirOwn) {
  EXPECT_RACE(complaint(changed(mapped_transpose_case(), "b2[9*x + y] = v0", "b2[8*x + 2*y] = v0")),
              "b2[8] is written by thread 4 of block 0 and written by thread 8 of block 0");
  EXPECT_RACE(complaint(changed(mapped_square_case(), "b1[64*b + t] = v1", "b1[0] = v1")),
              "b1[0] is written by thread 0 of block 0 and written by thread 1 of block 0");
}

TEST(LoopRaces, BlocksWriteElementsOfTheirOwn) {
  EXPECT_RACE(
      complaint(changed(mapped_argmax_case(), "b1[r] = v6", "b1[0] = v6")),
      "kernel `mapped_argmax`: b1[0] is written by threads 0 to 31 of block 0 and written by threads 0 to 31 of "
      "block 1");
}

TEST(LoopRaces, BlocksDoNotReadWhatOthersWrite) {
  const std::string text = R"(kernel handed_on
  axes    b: 4 blocks   t: 2 threads
  buffers b0 in f32[8]   b1 out f32[9]
  phase grid(b)
    loop t
      v0 = load b0[2*b + t]
      b1[2*b + t] = v0
    barrier
    loop t
      v1 = load b1[2*b - t + OTHER]
      v2 = neg v1
      b1[2*b - t + OTHER] = v2
)";
  const auto with = [&](const std::string& other) {
    std::string changed_text = text;
    for (size_t at = changed_text.find("OTHER"); at != std::string::npos; at = changed_text.find("OTHER")) {
      changed_text.replace(at, 5, other);
    }
    return changed_text;
  };
  EXPECT_EQ(complaint(with("1")), "no complaint");
  EXPECT_RACE(complaint(with("2")), "b1[2] is written by thread 0 of block 0 and written by thread 0 of block 1");
  const std::string ahead = R"(kernel ahead
  axes    b: 4 blocks   t: 2 threads
  buffers b0 in f32[8]   b1 out f32[10]
  phase grid(b)
    loop t
      v0 = load b0[2*b + t]
      b1[2*b + t] = v0
      v1 = load b1[2*b + t + 2]
)";
  EXPECT_RACE(complaint(ahead), "b1[2] is read by thread 0 of block 0 and written by thread 0 of block 1");
}

TEST(LoopRaces, ScratchIsWrittenBeforeItIsRead) {
  EXPECT_RACE(complaint(changed(mapped_transpose_case(), "b2[9*x + y] = v0", "b2[9*x + y] = v0 if 0 <= y < 7")),
              "kernel `mapped_transpose`: b2[7] is read by thread 56 of block 0, and nothing has written it");
  EXPECT_RACE(complaint(changed(mapped_product_case(), "b5[c] = v0", "b5[0] = v0")),
              "kernel `mapped_product`: b5[1] is read by thread 0 of block 0, and nothing has written it");
}

TEST(LoopRaces, ScratchOfABlockIsNotThatOfTheOneBefore) {
  EXPECT_RACE(complaint(R"(kernel kept
  axes    b: 2 blocks   t: 2 threads
  buffers b0 out f32[4]   b1 block scratch f32[2]
  phase grid(b)
    loop t
      v0 = constant f32 1
      b1[t] = v0 if 0 <= -b < 1
      v1 = load b1[t]
      b0[2*b + t] = v1
)"),
              "kernel `kept`: b1[0] is read by thread 0 of block 1, and nothing has written it");
}

TEST(LoopRaces, ScratchEndsWhereItEnds) {
  EXPECT_RACE(complaint(changed(mapped_transpose_case(), "b2[9*x + y] = v0", "b2[10*x + y] = v0")),
              "kernel `mapped_transpose`: b2[72], of 72 elements, is written by thread 58 of block 0");
}

/// One thread of a block writes there, all of them read.
TEST(LoopRaces, WhatABlockStoresItReadsBehindABarrier) {
  const std::string text = R"(kernel announced
  axes    b: 2 blocks   t: 4 threads
  buffers b0 in f32[2]   b1 out f32[8]   b2 block scratch f32[1]
  phase grid(b)
    v0 = load b0[b]
    b2[0] = v0
    barrier
    v1 = load b2[0]
    loop t
      b1[4*b + t] = v1
)";
  EXPECT_EQ(complaint(text), "no complaint");
  std::string without = text;
  without.erase(without.find("    barrier\n"), 12);
  EXPECT_RACE(complaint(without),
              "b2[0] is written by threads 0 to 3 of block 0 and read by threads 0 to 3 of block 0");
}

/// A result of all threads is no barrier for memory.
TEST(LoopRaces, ReductionsAreNoBarriers) {
  const std::string text = R"(kernel reduced
  axes    t: 4 threads   u: 4 threads
  buffers b0 in f32[4]   b1 out f32[4]   b2 block scratch f32[4]
  phase grid()
    loop t begins a0
      v0 = load b0[t]
      b2[t] = v0
      a0 sum= v0
    v1 = result a0
    loop u
      v2 = load b2[-u + 3]
      v3 = add v2, v1
      b1[u] = v3
)";
  EXPECT_RACE(complaint(text), "b2[3] is written by thread 3 of block 0 and read by thread 0 of block 0");
}

/// Buffers at one address are one: elements are in place where the same thread reads and writes them.
TEST(LoopRaces, BuffersInPlaceAreOne) {
  const std::string text = R"(kernel in_place
  axes    b: 5 blocks   t: 4 threads
  buffers b0 in f32[20]   b1 out f32[20]
  phase grid(b)
    loop t
      v0 = load b0[4*b + t]
      b1[4*b + t] = v0
)";
  EXPECT_EQ(complaint_in_place(text), "no complaint");
  std::string turned = text;
  turned.replace(turned.find("b1[4*b + t]"), 11, "b1[4*b - t + 3]");
  EXPECT_EQ(complaint(turned), "no complaint");
  EXPECT_RACE(complaint_in_place(turned), "b0[2] is written by thread 1 of block 0 and read by thread 2 of block 0");
}

TEST(LoopRaces, AreNotLookedForWhereNobodyWantsIt) {
  const loops::Kernel kernel = loops::parse_kernel(changed(mapped_transpose_case(), "    barrier\n", ""));
  EXPECT_EQ(complaint(kernel, RaceSearch::never), "no complaint");
  const loops::Kernel serial = loops::parse_kernel(R"(kernel same
  axes    i: 4
  buffers b0 out f32[1]
  phase grid(i)
    v0 = constant f32 1
    b0[0] = v0
)");
  EXPECT_EQ(complaint(serial), "no complaint");
  EXPECT_RACE(complaint(serial, RaceSearch::always),
              "kernel `same`: b0[0] is written by thread 0 of block 0 and written by thread 0 of block 1");
}

/// What a product reads and writes is looked at element by element.
TEST(LoopRaces, OfProducts) {
  const std::string text = R"(kernel product
  axes    b: 2   i: 2   j: 2   k: 2
  buffers b0 in f32[4]   b1 scratch u8[524288]   b2 scratch f32[4]   b3 out f32[8]
  phase grid(b)
    loop i
      v0 = load b0[i]
      b2[i] = v0
    b3[4*b + (2, 1)] = b2[0 + (2, 1)] * b0[0 + (2, 1)] over i by j by k
)";
  EXPECT_RACE(complaint(loops::parse_kernel(text), RaceSearch::always),
              "kernel `product`: b2[2] is read by thread 0 of block 0, and nothing has written it");
  std::string once = text;
  once.replace(once.find("b2[0 + (2, 1)]"), 14, "b0[0 + (2, 1)]");
  EXPECT_EQ(complaint(loops::parse_kernel(once), RaceSearch::always), "no complaint");
  once.replace(once.find("b3[4*b"), 6, "b3[3*b");
  EXPECT_RACE(complaint(loops::parse_kernel(once), RaceSearch::always),
              "kernel `product`: b3[3] is written by thread 0 of block 0 and written by thread 0 of block 1");
}

}  // namespace
}  // namespace tenon::loop_races_test
