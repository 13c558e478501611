#include "base/pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

namespace tenon::pool_test {
namespace {

TEST(Pool, CoversEveryIndexOnce) {
  Pool pool(4);
  for (const int64_t count : {0, 1, 2, 7, 64, 1000, 4097}) {
    for (const int64_t grain : {-1, 1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      pool.parallel_for(count, grain, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          ++seen[static_cast<size_t>(i)];
        }
      });
      for (const auto& times : seen) {
        ASSERT_EQ(times, 1) << count << " by " << grain;
      }
    }
  }
}

TEST(Pool, PlainWritesAreVisibleToTheCaller) {
  Pool pool(4);
  std::vector<int64_t> squares(10000);
  for (int round = 0; round < 200; ++round) {
    pool.parallel_for(std::ssize(squares), 100, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        squares[static_cast<size_t>(i)] = i * i + round;
      }
    });
    for (int64_t i = 0; i < std::ssize(squares); i += 101) {
      ASSERT_EQ(squares[static_cast<size_t>(i)], i * i + round);
    }
  }
}

TEST(Pool, WorkerNumbersAreExclusive) {
  Pool pool(4);
  std::array<std::atomic<int>, 4> running = {};
  std::atomic<bool> twice = false;
  for (int round = 0; round < 200; ++round) {
    pool.parallel_for(64, 1, [&](int64_t, int64_t, int worker) {
      auto& mine = running.at(static_cast<size_t>(worker));
      twice = twice || mine.fetch_add(1) != 0;
      std::this_thread::yield();
      mine.fetch_sub(1);
    });
  }
  EXPECT_FALSE(twice);
}

TEST(Pool, TakesNoMoreThreadsThanAsked) {
  Pool pool(6);
  pool.parallel_for(100, 1, [](int64_t, int64_t, int) {});  // all six are there
  for (const int threads : {1, 2, 3}) {
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    for (int round = 0; round < 50; ++round) {
      pool.parallel_for(
          50, 1,
          [&](int64_t, int64_t, int) {
            const int now = ++running;
            int before = most;
            while (before < now && !most.compare_exchange_weak(before, now)) {
            }
            std::this_thread::yield();
            --running;
          },
          threads);
    }
    EXPECT_LE(most, threads);
  }
}

/// Both ranges wait for each other: this ends only when two threads run them.
void expect_two_meet(Pool& pool) {
  std::atomic<int> arrived = 0;
  pool.parallel_for(2, 1, [&](int64_t, int64_t, int) {
    ++arrived;
    while (arrived < 2) {
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(arrived, 2);
}

TEST(Pool, OthersTakePart) {
  Pool pool(2);
  expect_two_meet(pool);
}

TEST(Pool, EachBeginsWithAPartOfItsOwn) {
  Pool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::array<std::atomic<int64_t>, 2> first = {-1, -1};
    pool.parallel_for(100, 1, [&](int64_t begin, int64_t, int worker) {
      int64_t none = -1;
      first[static_cast<size_t>(worker)].compare_exchange_strong(none, begin);
      while (first[static_cast<size_t>(1 - worker)] < 0) {
        std::this_thread::yield();  // or the first to come would take all
      }
    });
    EXPECT_EQ(first[0], 0);
    EXPECT_EQ(first[1], 50);
  }
}

TEST(Pool, SleepersWakeUp) {
  Pool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    expect_two_meet(pool);
  }
}

TEST(Pool, RethrowsTheFirstExceptionAndStaysUsable) {
  Pool pool(4);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> running = 0;
    std::string caught;
    try {
      pool.parallel_for(1000, 1, [&](int64_t begin, int64_t, int) {
        ++running;
        const bool bad = begin == 10 + round;
        --running;
        if (bad) {
          throw std::runtime_error("index " + std::to_string(begin));
        }
      });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    EXPECT_EQ(caught, "index " + std::to_string(10 + round));
    EXPECT_EQ(running, 0) << "a range was still running when the call ended";
  }
  std::atomic<int64_t> sum = 0;
  pool.parallel_for(100, 1, [&](int64_t begin, int64_t, int) { sum += begin; });
  EXPECT_EQ(sum, 4950);
}

TEST(Pool, EveryRangeThrows) {
  Pool pool(4);
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(pool.parallel_for(100, 1, [](int64_t, int64_t, int) { throw std::runtime_error("all"); }),
                 std::runtime_error);
  }
}

TEST(Pool, NestedLoopsRunInline) {
  Pool pool(4);
  std::atomic<int64_t> sum = 0;
  pool.parallel_for(20, 1, [&](int64_t outer, int64_t, int) {
    const std::thread::id self = std::this_thread::get_id();
    pool.parallel_for(100, 1, [&](int64_t begin, int64_t end, int) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      for (int64_t i = begin; i < end; ++i) {
        sum += outer * i;
      }
    });
  });
  EXPECT_EQ(sum, 190 * 4950);
}

TEST(Pool, ManyCallers) {
  Pool pool(3);
  std::vector<std::thread> callers;
  std::array<int64_t, 8> sums = {};
  for (size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 300; ++round) {
        std::array<int64_t, 64> parts = {};
        pool.parallel_for(64, 4, [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) {
            parts.at(static_cast<size_t>(i)) = i;
          }
        });
        sums.at(c) += std::accumulate(parts.begin(), parts.end(), int64_t{0});
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  for (const int64_t sum : sums) {
    EXPECT_EQ(sum, 300 * 2016);
  }
}

TEST(Pool, HugeCountsDoNotOverflow) {
  Pool pool(2);
  constexpr int64_t kCount = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> covered = 0;
  pool.parallel_for(kCount, kCount / 3, [&](int64_t begin, int64_t end, int) { covered += end - begin; });
  EXPECT_EQ(covered, kCount);
}

/// Nothing is known of threads that were never needed; the caller alone is always there.
TEST(Pool, KnowsWhetherThreadsAreAwake) {
  Pool pool(2);
  EXPECT_FALSE(pool.is_awake());
  EXPECT_TRUE(pool.is_awake(1));
  std::atomic<int> calls = 0;
  while (!pool.is_awake()) {
    pool.parallel_for(2, 1, [&](int64_t, int64_t, int) { ++calls; });
  }
  EXPECT_GE(calls.load(), 1);
  while (pool.is_awake()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // it has nothing to do
  }
  EXPECT_FALSE(pool.is_awake(2));
}

TEST(Pool, IsWokenForMuchWorkOrForLittleAgainAndAgain) {
  Pool pool(2);
  const double much = 10 * pool.wake_latency_ns();
  const double little = pool.wake_latency_ns() / 10;
  EXPECT_TRUE(pool.is_worth_waking(much));
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(pool.is_worth_waking(little));
    pool.ran_alone(little);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the next one comes long after
  }
  int calls = 1;
  while (!pool.is_worth_waking(little)) {
    pool.ran_alone(little);
    ++calls;
  }
  EXPECT_GE(calls, 3);
}

/// Where threads come slowly, more work is needed to call them.
TEST(Pool, MeasuresHowLongThreadsTakeToCome) {
  Pool pool(2);
  const double expected = pool.wake_latency_ns();
  std::atomic<int> calls = 0;
  for (int i = 0; i < 20; ++i) {
    while (!pool.is_awake()) {
      pool.parallel_for(2, 1, [&](int64_t, int64_t, int) { ++calls; });
    }
    while (pool.is_awake()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  EXPECT_NE(pool.wake_latency_ns(), expected);
  EXPECT_GT(pool.wake_latency_ns(), 0);
  EXPECT_FALSE(pool.is_worth_waking(pool.wake_latency_ns() / 2));
}

/// Nothing is measured while no thread is called: one that came late once must not stay away for ever.
TEST(Pool, ForgetsSlowly) {
  Pool pool(2);
  const double expected = pool.wake_latency_ns();
  const double work = expected;
  pool.ran_alone(work);
  EXPECT_GT(pool.wake_latency_ns(), 0.99 * expected);
  for (int i = 0; i < 10'000; ++i) {
    pool.ran_alone(work);
  }
  EXPECT_LT(pool.wake_latency_ns(), 0.5 * expected);
  EXPECT_GT(pool.wake_latency_ns(), 0);
}

}  // namespace
}  // namespace tenon::pool_test
