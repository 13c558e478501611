#include "roofs/limit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "roofs/reuse.h"

namespace tenon::roofs::limit_test {
namespace {

TEST(Reuse, WhatWasTouchedSince) {
  ReuseStack stack(1000);
  EXPECT_TRUE(std::isinf(stack.touch(1, 10, false)));
  EXPECT_TRUE(std::isinf(stack.touch(2, 20, false)));
  EXPECT_EQ(stack.touch(2, 20, false), 20);  // nothing since
  EXPECT_EQ(stack.touch(1, 10, false), 30);
  EXPECT_EQ(stack.touch(2, 20, false), 30);
}

TEST(Reuse, PiecesOfAnArenaShareIt) {
  ReuseStack stack(25);
  stack.touch(0, 5, false);
  for (size_t i = 1; i < 5; ++i) {
    stack.touch(i, 10, true);
  }
  EXPECT_EQ(stack.touch(0, 5, false), 30);  // 25 of 40, and its own
}

TEST(Reuse, WhatDoesNotFitComesFromBeyond) {
  EXPECT_EQ(beyond(100, 50, 50), 0);
  EXPECT_EQ(beyond(100, 200, 50), 75);
  EXPECT_EQ(beyond(100, INFINITY, 50), 100);
}

Roofs one_thread() {
  return {.levels = {{"first cache", 1000}, {"last cache", 4000, true}, {"memory", 0, true}},
          .rates = {{1, {100, 50, 100, 400}, {1000, 100, 10}}}};
}

TEST(Limit, ArithmeticOfSeveralUnitsIsOneAfterTheOther) {
  const Limit limit = limit_of({.operations = {1000, 1000, 0, 0}, .touches = {}}, one_thread(), 1);
  EXPECT_DOUBLE_EQ(limit.seconds, 30);
  EXPECT_EQ(limit.by, "f64 arithmetic");
}

TEST(Limit, BytesByTheCacheThatStillHasThem) {
  EXPECT_EQ(limit_of({.operations = {}, .touches = {{.bytes = 500, .distance = 900}}}, one_thread(), 1).by,
            "first cache");
  const Limit last = limit_of({.operations = {}, .touches = {{.bytes = 500, .distance = 4000}}}, one_thread(), 1);
  EXPECT_EQ(last.by, "last cache");
  EXPECT_DOUBLE_EQ(last.seconds, 500 * 0.75 / 100);
  const Limit memory = limit_of({.operations = {}, .touches = {{.bytes = 500, .distance = INFINITY}}}, one_thread(), 1);
  EXPECT_EQ(memory.by, "memory");
  EXPECT_DOUBLE_EQ(memory.seconds, 50);
  EXPECT_EQ(memory.bytes, (std::vector<double>{500, 500, 500}));
}

TEST(Limit, NothingToDo) {
  const Limit limit = limit_of({}, one_thread(), 1);
  EXPECT_EQ(limit.seconds, 0);
  EXPECT_EQ(limit.by, "");
}

}  // namespace
}  // namespace tenon::roofs::limit_test
