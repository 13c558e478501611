#include "runtime/plan/alone_time.h"

#include <gtest/gtest.h>

namespace tenon::runtime::alone_time_test {
namespace {

/// The first runs find nothing in caches, and any run may be interrupted.
TEST(AloneTime, IsTheLeastOfSeveralRuns) {
  const AloneTime time;
  EXPECT_EQ(time.nanoseconds(7), 7);
  time.add(50);
  time.add(30);
  EXPECT_EQ(time.nanoseconds(7), 7);
  time.add(40);
  EXPECT_EQ(time.nanoseconds(7), 30);
  time.add(90);
  EXPECT_EQ(time.nanoseconds(7), 30);
  time.add(20);
  EXPECT_EQ(time.nanoseconds(7), 20);
}

}  // namespace
}  // namespace tenon::runtime::alone_time_test
