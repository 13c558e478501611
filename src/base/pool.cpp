#include "base/pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "tenon/machine.h"

namespace tenon {
namespace {

/// How many workers may be inside at once stands in the high bits of `inside_`: a worker that has not entered must not
/// read the job, which may be the next one's by then. None once the job is closed.
constexpr int kSeatShift = 15;
constexpr int32_t kCountMask = (1 << kSeatShift) - 1;

/// How often a waiting thread looks before it sleeps: some ten microseconds, the distance of two kernels of a run.
constexpr int kSpins = 400;

/// Between steps of a run it looks for longer, in nanoseconds: what one thread alone may take for a step. The system
/// takes 3 to 5 us to wake each thread, one after the other: with 16 threads a norm of 83 us took as long on all of
/// them as on one.
constexpr int64_t kAwakeInARun = 4'000'000;
constexpr int kSpinsOfAYield = 32;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` is a no-operation on most cores
#endif
}

/// A thread is still awake when the last loop is so many nanoseconds past.
constexpr int64_t kClose = 10'000;

/// Work that takes so many times as long as a thread takes to come is worth calling one. It finds nothing in its
/// caches, and its core may have slept as well: products of 60 us lost with a thread that came within 15.
constexpr double kComings = 6;
/// Loops that follow each other count together, but may end any time: the first one that is shared has to bring half of
/// what it reads to another core, so there should be many.
constexpr double kComingsOfMany = 20;
/// What is expected moves by such a part towards the newest: to what threads take when nothing keeps them. One that the
/// system lets wait costs the caller little more than the call, and says little about the next.
constexpr double kTowardsSooner = 0.25;
constexpr double kTowardsLater = 0.03;
constexpr double kShortestComing = 1'000;
constexpr double kLongestComing = 200'000;
/// While no thread is called, nothing is measured, and less is expected by this part of the time that passes: sooner or
/// later one is called to try.
constexpr double kForgotten = 1.0 / 512;

/// A thread that slept is slow at first, with cold caches and a clock that has to speed up again. When less than one
/// part in so many of a loop is left, the others have done it before the one could do a chunk.
constexpr int64_t kMuch = 3;

/// Wait a little while `value` is `old`; whether it changed.
bool changes_soon(const std::atomic<int32_t>& value, int32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) {
      return true;
    }
    relax();
  }
  return false;
}

}  // namespace

/// changes_soon(), for longer while there is a run. Others who want the core get it.
bool Pool::changes_in_a_run(const std::atomic<int32_t>& value, int32_t old) const {
  if (changes_soon(value, old)) {
    return true;
  }
  const int64_t end = nanoseconds_now() + kAwakeInARun;
  while (runs_.load(std::memory_order_relaxed) > 0 && nanoseconds_now() < end) {
    std::this_thread::yield();
    for (int i = 0; i < kSpinsOfAYield; ++i) {
      if (value.load(std::memory_order_acquire) != old) {
        return true;
      }
      relax();
    }
  }
  return false;
}

Pool::Pool(int threads)
    : size_(std::clamp(threads > 0 ? threads : static_cast<int>(this_machine().cpu().cores), 1,
                       static_cast<int>(kCountMask))),
      shares_(std::make_unique<Share[]>(static_cast<size_t>(size_))) {}

Pool::~Pool() {
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

Pool& Pool::shared() {
  static auto* const pool = new Pool();  // not destroyed: objects of static lifetime may still run programs
  return *pool;
}

/// Callers may come at once: what one of them overwrites is a little work that does not count.
bool Pool::is_worth_waking(double nanoseconds) {
  if (nanoseconds >= kComings * wake_latency_ns()) {
    return true;
  }
  if (nanoseconds_now() - alone_until_.load(std::memory_order_relaxed) > kClose) {
    alone_.store(0, std::memory_order_relaxed);
  }
  return alone_.load(std::memory_order_relaxed) + nanoseconds >= kComingsOfMany * wake_latency_ns();
}

void Pool::ran_alone(double nanoseconds) {
  coming_.store(std::max(wake_latency_ns() - kForgotten * nanoseconds, kShortestComing), std::memory_order_relaxed);
  alone_.store(alone_.load(std::memory_order_relaxed) + nanoseconds, std::memory_order_relaxed);
  alone_until_.store(nanoseconds_now(), std::memory_order_relaxed);
}

int64_t Pool::run(const Job& job, int threads) {
  if (busy_.exchange(true, std::memory_order_acquire)) {
    job.body(job.context, 0, job.count, 0);
    return 0;
  }
  job_ = job;
  const int64_t chunks = (job.count - 1) / job.grain + 1;
  const auto seats =
      static_cast<int32_t>(std::min<int64_t>(threads > 0 ? std::min(threads, size_) : size_, chunks) - 1);
  threads_of_job_ = seats + 1;
  int64_t first = 0;
  for (int i = 0; i < threads_of_job_; ++i) {
    Share& share = shares_[static_cast<size_t>(i)];
    share.next.store(first, std::memory_order_relaxed);
    first += chunks / threads_of_job_ + (i < chunks % threads_of_job_ ? 1 : 0);
    share.end = first;
  }
  failed_.store(false, std::memory_order_relaxed);
  start(seats);

  if (!is_awake(threads_of_job_) && called_.load(std::memory_order_relaxed) == 0) {
    called_.store(nanoseconds_now(), std::memory_order_relaxed);
  }
  inside_.store(seats << kSeatShift, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  if (seats < static_cast<int>(threads_.size())) {
    for (int i = 0; i < seats; ++i) {
      generation_.notify_one();
    }
  } else {
    generation_.notify_all();
  }
  claim(0);
  const int64_t waited = close();

  const std::exception_ptr error = std::exchange(error_, nullptr);
  busy_.store(false, std::memory_order_release);
  if (error) {
    std::rethrow_exception(error);
  }
  return waited;
}

void Pool::start(int workers) {
  try {
    while (static_cast<int>(threads_.size()) < workers) {
      threads_.emplace_back(&Pool::work, this, static_cast<int>(threads_.size()) + 1);
    }
  } catch (const std::system_error&) {
    return;  // no thread to be had: the loop runs on those that there are
  }
}

void Pool::work(int worker) {
  int32_t seen = 0;
  FloatMode mode = FloatMode::current();
  awake_.fetch_add(1, std::memory_order_relaxed);
  called_.store(0, std::memory_order_relaxed);  // to start takes longer than to wake up
  while (true) {
    const bool slept = !changes_in_a_run(generation_, seen);
    if (slept) {
      sleep(seen);
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) {
      return;
    }
    if (enter()) {
      if (!slept || is_much_left()) {
        if (mode != job_.mode) {
          mode = job_.mode;
          mode.use();
        }
        claim(worker);
      }
      leave();
    }
  }
}

void Pool::sleep(int32_t generation) {
  called_.store(0, std::memory_order_relaxed);  // whoever called met one that was awake
  awake_.fetch_sub(1, std::memory_order_relaxed);
  generation_.wait(generation, std::memory_order_acquire);
  awake_.fetch_add(1, std::memory_order_relaxed);
  if (const int64_t called = called_.exchange(0, std::memory_order_relaxed); called != 0) {
    const double came = std::min(static_cast<double>(nanoseconds_now() - called), kLongestComing);
    const double part = came < wake_latency_ns() ? kTowardsSooner : kTowardsLater;
    coming_.store(wake_latency_ns() + part * (came - wake_latency_ns()), std::memory_order_relaxed);
  }
}

/// A worker that comes late finds the job closed and never touches it, so the caller waits only for those inside.
bool Pool::enter() {
  int32_t inside = inside_.load(std::memory_order_acquire);
  while ((inside & kCountMask) < (inside >> kSeatShift)) {
    if (inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) {
      return true;
    }
  }
  return false;
}

bool Pool::is_much_left() const {
  int64_t left = 0;
  for (int i = 0; i < threads_of_job_; ++i) {
    const Share& share = shares_[static_cast<size_t>(i)];
    left += std::max<int64_t>(0, share.end - share.next.load(std::memory_order_relaxed));
  }
  const int64_t all = shares_[static_cast<size_t>(threads_of_job_ - 1)].end;
  return kMuch * left >= all;
}

void Pool::leave() {
  if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    inside_.notify_one();
  }
}

/// Returns for how long it waited.
int64_t Pool::close() {
  int32_t inside = inside_.fetch_and(kCountMask, std::memory_order_acq_rel) & kCountMask;
  if (inside == 0) {
    return 0;
  }
  const int64_t begin = nanoseconds_now();
  while (inside != 0) {
    if (!changes_in_a_run(inside_, inside)) {
      inside_.wait(inside, std::memory_order_acquire);
    }
    inside = inside_.load(std::memory_order_acquire);
  }
  return nanoseconds_now() - begin;
}

void Pool::claim(int worker) {
  try {
    for (int i = 0; i < threads_of_job_; ++i) {
      claim_from((worker + i) % threads_of_job_, worker);
    }
  } catch (...) {
    if (!failed_.exchange(true, std::memory_order_relaxed)) {
      error_ = std::current_exception();
    }
  }
}

void Pool::claim_from(int share, int worker) {
  Share& from = shares_[static_cast<size_t>(share)];
  while (!failed_.load(std::memory_order_relaxed)) {
    const int64_t chunk = from.next.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= from.end) {
      return;
    }
    const int64_t begin = chunk * job_.grain;
    job_.body(job_.context, begin, std::min(job_.grain, job_.count - begin) + begin, worker);
  }
}

}  // namespace tenon
