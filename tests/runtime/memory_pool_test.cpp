#include "runtime/memory/memory_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "devices/cpu/cpu_device.h"
#include "tenon/error.h"

namespace tenon::runtime::memory_pool_test {
namespace {

TEST(MemoryPool, GivesTheSameMemoryAgain) {
  MemoryPool pool(1 << 20, devices::host_device());
  const std::byte* first = pool.take(1000).get();
  EXPECT_EQ(pool.counters().idle, 1024);
  EXPECT_EQ(pool.take(900).get(), first) << "of the same class";
  const auto held = pool.take(1000);
  EXPECT_EQ(held.get(), first);
  EXPECT_EQ(pool.counters().idle, 0);
  EXPECT_NE(pool.take(1000).get(), first);
}

TEST(MemoryPool, WastesAtMostAThird) {
  MemoryPool pool(int64_t{1} << 30, devices::host_device());
  int64_t before = 0;
  for (int64_t bytes = 65; bytes < 100000; bytes = bytes * 11 / 10 + 1) {
    pool.take(bytes);
    const int64_t taken = pool.counters().idle - before;
    if (taken > 0) {  // a class of its own
      EXPECT_GE(taken, bytes);
      EXPECT_LE(taken, bytes * 3 / 2);
    }
    before = pool.counters().idle;
  }
}

TEST(MemoryPool, KeepsNoMoreThanItsLimit) {
  MemoryPool pool(10000, devices::host_device());
  {
    std::vector<std::shared_ptr<std::byte[]>> held;
    for (int i = 0; i < 100; ++i) {
      held.push_back(pool.take(1024));
      std::memset(held.back().get(), i, 1024);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(held.back().get()) % 64, 0u);
    }
  }
  EXPECT_EQ(pool.counters().idle, 9 * 1024);
  pool.take(100000);
  EXPECT_EQ(pool.counters().idle, 9 * 1024);
}

TEST(MemoryPool, KeepsWhatWasUsedLast) {
  MemoryPool pool(5000, devices::host_device());
  pool.take(1024);
  pool.take(2048);
  pool.take(1024);  // used again
  pool.take(3000);  // in place of the 2048
  EXPECT_EQ(pool.counters().idle, 1024 + 3072);
  EXPECT_EQ(pool.counters().total, 1024 + 3072);
  EXPECT_EQ(pool.counters().peak, 1024 + 2048 + 3072);
  pool.set_idle_limit(2000);
  EXPECT_EQ(pool.counters().idle, 0) << "the 1024 waited longer than the 3072, which is too large now";
}

TEST(MemoryPool, PreparedBlocksWait) {
  MemoryPool pool(100000, devices::host_device());
  pool.prepare(std::vector<int64_t>{1000, 1000, 5000});
  EXPECT_EQ(pool.counters().idle, 1024 + 1024 + 6144);
  pool.prepare(std::vector<int64_t>{1000, 900});
  EXPECT_EQ(pool.counters().idle, 1024 + 1024 + 6144) << "they are there";
  pool.prepare(std::vector<int64_t>{1000000});
  EXPECT_EQ(pool.counters().total, 1024 + 1024 + 6144) << "could not be kept";
}

TEST(MemoryPool, ABlockIsGivenBackOnce) {
  MemoryPool pool(1 << 20, devices::host_device());
  MemoryPool::Block* const block = pool.acquire(100);
  pool.release(block);
  EXPECT_THROW(pool.release(block), InternalError);
  EXPECT_EQ(pool.acquire(100), block);
  pool.release(block);
}

TEST(MemoryPool, MemoryOutlivesThePool) {
  std::shared_ptr<std::byte[]> memory;
  {
    MemoryPool pool(1 << 20, devices::host_device());
    memory = pool.take(100);
    EXPECT_NE(pool.take(0), nullptr);
  }
  std::memset(memory.get(), 1, 100);
  EXPECT_EQ(memory[99], std::byte{1});
}

TEST(MemoryPool, ManyThreads) {
  MemoryPool pool(1 << 16, devices::host_device());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int i = 1; i < 500; ++i) {
        const auto memory = pool.take(i);
        std::memset(memory.get(), t, static_cast<size_t>(i));
        ASSERT_EQ(memory[i - 1], static_cast<std::byte>(t));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_LE(pool.counters().idle, 1 << 16);
}

}  // namespace
}  // namespace tenon::runtime::memory_pool_test
