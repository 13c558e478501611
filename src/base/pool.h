// Threads that share a loop: fork, claim chunks, join.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "base/float_mode.h"

namespace tenon {

/// A pool of `size()` threads, of which the caller of parallel_for() is one; the others start when they are first
/// needed and sleep while there is nothing to do. It runs one loop at a time. Any thread may call it at any time, also
/// from inside a loop: while the pool is busy a loop runs on its caller alone, so there are never more threads at work
/// than callers and workers.
class Pool {
 public:
  /// 0: as many threads as the machine has.
  explicit Pool(int threads = 0);
  /// No loop may be running.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// The pool of the process. It is never destroyed.
  static Pool& shared();

  int size() const { return size_; }

  /// Whether so many threads are at hand, or all for 0, the caller among them.
  bool is_awake(int threads = 0) const {
    const int others = (threads > 0 && threads < size_ ? threads : size_) - 1;
    return awake_.load(std::memory_order_relaxed) >= others;
  }

  /// Whether a loop that takes one thread this many nanoseconds should wake sleeping threads: by their recent wake-up
  /// latency, most of the loop must still be left to do when they arrive. Loops that follow each other so closely that
  /// threads would stay awake between them count together; ran_alone() reports them.
  bool is_worth_waking(double nanoseconds);
  /// A loop of so many nanoseconds has just run without the others.
  void ran_alone(double nanoseconds);
  /// Recent wake-up latency: nanoseconds from notifying sleeping threads to the first one running.
  double wake_latency_ns() const { return coming_.load(std::memory_order_relaxed); }

  /// While one lives, threads that have nothing to do look for the next loop for longer before they sleep: somebody has
  /// loops that follow each other. To wake them takes the caller microseconds for each.
  class KeepAwake {
   public:
    explicit KeepAwake(Pool& pool) : pool_(pool) { pool_.runs_.fetch_add(1, std::memory_order_relaxed); }
    ~KeepAwake() { pool_.runs_.fetch_sub(1, std::memory_order_relaxed); }
    KeepAwake(const KeepAwake&) = delete;
    KeepAwake& operator=(const KeepAwake&) = delete;

   private:
    Pool& pool_;
  };

  /// Call f(begin, end, worker) on ranges that together cover [0, count), each of at most `grain` unless they all run
  /// on the caller. `worker` is in [0, size()), and of one loop no two ranges run under one number at once. At most
  /// `threads` threads take part; 0 is all. Everything that f wrote is visible when this returns. All compute in the
  /// caller's FloatMode, so that f gives the same wherever it runs.
  /// When f throws, ranges that have not begun are left out, and the first exception is rethrown here after the others
  /// ended.
  /// Returns the nanoseconds that the caller waited for the others, with nothing left to do itself.
  template <class F>
  int64_t parallel_for(int64_t count, int64_t grain, const F& f, int threads = 0) {
    if (count <= 0) {
      return 0;
    }
    if (count <= grain || threads == 1 || size_ == 1) {
      f(int64_t{0}, count, 0);
      return 0;
    }
    return run({.body = [](const void* body, int64_t begin, int64_t end,
                           int worker) { (*static_cast<const F*>(body))(begin, end, worker); },
                .context = &f,
                .count = count,
                .grain = grain < 1 ? 1 : grain},
               threads);
  }

 private:
  struct Job {
    void (*body)(const void* context, int64_t begin, int64_t end, int worker) = nullptr;
    const void* context = nullptr;
    int64_t count = 0;
    int64_t grain = 1;
    FloatMode mode = FloatMode::current();
  };

  int64_t run(const Job& job, int threads);
  void start(int workers);
  void work(int worker);
  void sleep(int32_t generation);
  bool changes_in_a_run(const std::atomic<int32_t>& value, int32_t old) const;
  bool enter();
  bool is_much_left() const;
  void leave();
  int64_t close();
  void claim(int worker);
  void claim_from(int share, int worker);

  /// The chunks that one thread begins with; others help when they have done theirs. The same part of a loop falls to
  /// the same thread time after time, so it finds in its caches what it wrote there one loop before.
  struct alignas(64) Share {
    std::atomic<int64_t> next = 0;
    int64_t end = 0;
  };

  const int size_;
  const std::unique_ptr<Share[]> shares_;  // by thread
  std::vector<std::thread> threads_;       // belongs to whoever holds busy_
  std::atomic<bool> stopping_ = false;

  // The job is written by the holder of busy_ while nobody is inside, and read by those who entered.
  Job job_;
  int threads_of_job_ = 1;
  std::exception_ptr error_;
  std::atomic<bool> failed_ = false;

  // Apart, because each is written by another thread than the one that waits for it.
  alignas(64) std::atomic<bool> busy_ = false;
  alignas(64) std::atomic<int32_t> runs_ = 0;        // of KeepAwake
  alignas(64) std::atomic<int32_t> awake_ = 0;       // workers that have not gone to sleep
  std::atomic<double> coming_ = 20'000;              // nanoseconds, as long as nothing was measured
  std::atomic<int64_t> called_ = 0;                  // when those that sleep were, in nanoseconds; 0: one has come
  std::atomic<double> alone_ = 0;                    // nanoseconds of late that were not worth it to wake them
  std::atomic<int64_t> alone_until_ = 0;             // nanoseconds
  alignas(64) std::atomic<int32_t> generation_ = 0;  // grows with each job
  alignas(64) std::atomic<int32_t> inside_ = 0;      // workers inside; above them, while the job is open, its seats
};

}  // namespace tenon
