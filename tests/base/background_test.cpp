#include "base/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <vector>

namespace tenon::background_test {
namespace {

TEST(BackgroundJobs, RunInOrder) {
  std::vector<int> ran;
  BackgroundJobs jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.add([&ran, i] { ran.push_back(i); });
  }
  jobs.wait();
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(BackgroundJobs, DropWhatAJobThrows) {
  bool ran = false;
  BackgroundJobs jobs;
  jobs.add([] { throw std::runtime_error("not enough memory, say"); });
  jobs.add([&ran] { ran = true; });
  jobs.wait();
  EXPECT_TRUE(ran);
}

TEST(BackgroundJobs, ThatHaveNotBegunEndWithTheirOwner) {
  BackgroundJobs first;
  std::latch begun(1);
  std::latch released(1);
  first.add([&] {
    begun.count_down();
    released.wait();
  });
  begun.wait();
  std::atomic<bool> ran = false;
  {
    BackgroundJobs second;
    second.add([&ran] { ran = true; });
  }
  released.count_down();
  first.add([] {});
  first.wait();
  EXPECT_FALSE(ran);
}

TEST(BackgroundJobs, ThatRunAreWaitedForByTheirOwner) {
  std::latch begun(1);
  std::atomic<int> done = 0;
  {
    BackgroundJobs jobs;
    jobs.add([&] {
      begun.count_down();
      for (int i = 0; i < 1000; ++i) {
        done.fetch_add(1);
      }
    });
    begun.wait();
  }
  EXPECT_EQ(done.load(), 1000);
}

}  // namespace
}  // namespace tenon::background_test
