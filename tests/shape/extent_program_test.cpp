#include "shape/extent_program.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "tenon/error.h"

namespace tenon::extent_program_test {
namespace {
std::atomic<size_t> allocations{0};

void* counted(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size != 0 ? size : 1)) {
    return p;
  }
  throw std::bad_alloc();
}
}  // namespace
}  // namespace tenon::extent_program_test

// Where new is inlined and delete is not, g++ takes malloc and free for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t size) { return tenon::extent_program_test::counted(size); }
void* operator new[](std::size_t size) { return tenon::extent_program_test::counted(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace tenon::extent_program_test {
namespace {

using Outcome = ExtentProgram::Outcome;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

const std::array<std::string, 3> kNames = {"b", "s", "h"};

std::vector<Extent> parsed(std::initializer_list<const char*> texts) {
  std::vector<Extent> extents;
  for (const char* text : texts) {
    extents.push_back(Extent::parse(text));
  }
  return extents;
}

TEST(ExtentProgram, AgreesWithEvaluate) {
  const std::vector<Extent> extents =
      parsed({"7", "b", "3*b*s + 1", "(h + 7) floordiv 8", "b ceildiv s", "b mod s", "min(b, s, h)", "max(b - 4, 0)",
              "b*b*s - h", "(b*s + h) floordiv (s + 1)", "-b", "8 - s"});
  const ExtentProgram program(kNames, extents);
  std::vector<int64_t> registers(program.register_count());
  ASSERT_EQ(program.result_count(), extents.size());
  for (const int64_t b : {0, 1, 7, 1000}) {
    for (const int64_t s : {1, 2, -3, 77}) {
      for (const int64_t h : {0, 8, 9, -1}) {
        const std::array<int64_t, 3> values = {b, s, h};
        ASSERT_TRUE(program.run(values, registers).ok());
        for (size_t i = 0; i < extents.size(); ++i) {
          const int64_t expected = extents[i].evaluate([&](std::string_view n) {
            return n == "b" ? b : n == "s" ? s : h;
          });
          EXPECT_EQ(registers[program.result(i)], expected) << extents[i].to_string();
        }
      }
    }
  }
}

TEST(ExtentProgram, SharesCommonSubexpressions) {
  const ExtentProgram program(kNames, parsed({"b*s", "b*s*h", "b*s + 1", "s*b", "2*b*s"}));
  EXPECT_EQ(program.to_string(),
            "r0 = name 0\n"
            "r1 = name 1\n"
            "r2 = multiply r0 r1\n"
            "r3 = name 2\n"
            "r4 = multiply r0 r3\n"
            "r5 = multiply r1 r4\n"
            "r6 = offset r2 1\n"
            "r7 = scale r2 2\n");
  EXPECT_EQ(program.result(0), program.result(3));
}

TEST(ExtentProgram, ReportsWhatFailsAndWhere) {
  const ExtentProgram program(kNames, parsed({"b + 1", "b*s", "b floordiv s", "b floordiv s + h"}));
  std::vector<int64_t> registers(program.register_count());
  const auto run = [&](int64_t b, int64_t s, int64_t h) { return program.run(std::array{b, s, h}, registers); };
  EXPECT_EQ(run(2, 1, 3), (ExtentProgram::Status{Outcome::ok, 0}));
  EXPECT_EQ(run(kMax, 1, 1), (ExtentProgram::Status{Outcome::overflow, 0}));
  EXPECT_EQ(run(kMax - 1, 2, 1), (ExtentProgram::Status{Outcome::overflow, 1}));
  EXPECT_EQ(run(3, 0, 1), (ExtentProgram::Status{Outcome::division_by_zero, 2}));
  EXPECT_EQ(run(kMax - 1, 1, 5), (ExtentProgram::Status{Outcome::overflow, 3}));
  const ExtentProgram quotient(kNames, parsed({"b floordiv s"}));
  EXPECT_EQ(quotient.run(std::array{kMin, int64_t{-1}, int64_t{0}}, registers).outcome, Outcome::overflow);
}

TEST(ExtentProgram, RunsWithoutAllocating) {
  const ExtentProgram program(kNames, parsed({"(3*b*s + 1) floordiv (h + 1)", "min(b, s) mod 8", "b floordiv s"}));
  std::vector<int64_t> registers(program.register_count());
  const size_t before = allocations.load();
  bool all = true;
  for (int64_t i = 1; i < 1000; ++i) {
    all = program.run(std::array{i, i + 1, i * 2}, registers).ok() && all;
  }
  const bool failed = program.run(std::array<int64_t, 3>{1, 0, 1}, registers).outcome == Outcome::division_by_zero;
  const size_t after = allocations.load();
  EXPECT_TRUE(all && failed);
  EXPECT_EQ(after, before);
}

TEST(ExtentProgram, ConstantsAndCopiesDoNotAllocate) {
  const Extent seq = Extent::name("seq");
  const size_t before = allocations.load();
  Extent e = 3;
  e = e * 4 + Extent(5) - floordiv(Extent(9), 2) + min(Extent(1), 2);
  const Extent copy = seq;
  const bool same = copy == seq && copy.hash() == seq.hash();
  const size_t after = allocations.load();
  EXPECT_TRUE(same);
  EXPECT_EQ(e.constant(), 14);
  EXPECT_EQ(after, before);
}

TEST(ExtentProgram, NamesMustBeGivenOnce) {
  const auto error_of = [](std::span<const std::string> names) -> std::string {
    try {
      ExtentProgram(names, parsed({"b", "s*q + 1"}));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(kNames), "axis `q` is not among the names of the program\n  in extent `q*s+1`");
  EXPECT_EQ(error_of(std::array<std::string, 2>{"b", "b"}), "axis `b` is named twice");
}

TEST(ExtentProgram, EmptyProgram) {
  const ExtentProgram program;
  EXPECT_EQ(program.register_count(), 0U);
  EXPECT_TRUE(program.run({}, {}).ok());
}

}  // namespace
}  // namespace tenon::extent_program_test
