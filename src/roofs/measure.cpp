// The loops on threads of their own, from one barrier to the next.
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "base/aligned.h"
#include "base/clock.h"
#include "roofs/loops.h"
#include "roofs/roofs.h"

namespace tenon::roofs {
namespace {

// Short stretches, many of them: in some, nobody else uses the machine. The fastest counts.
constexpr int kStretches = 10;
constexpr int64_t kStretchNs = 700'000;
constexpr int kLeastStretches = 2;
constexpr int64_t kMostNs = 100'000'000;           // of all stretches of a loop, but for the least number of them
constexpr int64_t kPassFloats = 8 * kLineFloats;   // StreamLoop::run
constexpr int64_t kCallFloats = int64_t{1} << 16;  // in a call: to begin and to add up sums takes long beside fewer
constexpr int64_t kMostMemoryBytes = int64_t{512} << 20;

struct FreeAligned {
  void operator()(std::byte* block) const { free_aligned(block); }
};

/// Floats that are in memory: each was written once.
class Block {
 public:
  explicit Block(int64_t floats) : floats_(floats), memory_(allocate_aligned(static_cast<size_t>(floats) * 4)) {
    std::fill_n(at(0), floats, 1.0F);
  }
  float* at(int64_t first) const { return reinterpret_cast<float*>(memory_.get()) + first; }
  int64_t floats() const { return floats_; }

 private:
  int64_t floats_;
  std::unique_ptr<std::byte, FreeAligned> memory_;
};

int64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  int64_t kib = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kib) {
      return kib << 10;
    }
  }
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGE_SIZE)) / 2;
}

/// Of one of a thread's three arrays, for a level: well inside of it and beyond the one before.
int64_t floats_for(const std::vector<Level>& levels, size_t level, int threads, int64_t block_bytes) {
  int64_t bytes = 0;  // of all arrays of a thread
  if (level == 0) {
    bytes = levels[0].bytes / 2;
  } else if (levels[level].bytes == 0) {
    bytes = block_bytes / threads;  // each stretch goes on where the last ended
  } else if (!levels[level].shared) {
    bytes = levels[level].bytes / 2;
  } else {
    const int64_t inner = levels[level - 1].bytes;
    bytes = std::clamp(levels[level].bytes / (2 * threads), 2 * inner, 6 * inner);
  }
  bytes = std::min(bytes, block_bytes / threads);
  return std::max<int64_t>(1, bytes / 3 / 4 / kPassFloats) * kPassFloats;
}

/// Runs the variants of some work on so many threads at once, one after the other, each several times.
template <class Work>
class Race {
 public:
  Race(int threads, const Work& work) : work_(work), done_(static_cast<size_t>(threads)), gate_(threads) {}

  /// The most that all threads together did in a second.
  double run() {
    std::vector<std::thread> others;
    for (size_t i = 1; i < done_.size(); ++i) {
      others.emplace_back([this, i] { take_part(i); });
    }
    take_part(0);
    for (std::thread& each : others) {
      each.join();
    }
    return best_;
  }

 private:
  struct Done {
    double amount = 0;
    int64_t begin = 0, end = 0;
    double best = 0;  // rate, of all stretches
  };

  void take_part(size_t thread) {
    auto state = work_.prepare(thread);
    for (gate_.arrive_and_wait(); next_ < work_.loops.size() * kStretches; gate_.arrive_and_wait()) {
      const auto& loop = work_.loops[next_ / kStretches];
      Done& done = done_[thread];
      done.amount = 0;
      done.begin = now();
      do {
        done.amount += work_.step(loop, state);
        done.end = now();
      } while (done.end - done.begin < kStretchNs);
      gate_.arrive_and_wait();
      if (thread == 0) {
        judge();
      }
    }
  }

  /// Nanoseconds. Where threads take nothing from one another, those that this one had a processor.
  int64_t now() const {
    if (!work_.is_private) {
      return nanoseconds_now();
    }
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  /// Each thread by its own clock: one that waited for a core has begun late and is no slower.
  void judge() {
    double together = 0;
    double apart = 0;
    for (Done& each : done_) {
      const double rate = each.amount * 1e9 / static_cast<double>(each.end - each.begin);
      each.best = std::max(each.best, rate);
      together += rate;
      apart += each.best;
    }
    best_ = std::max(best_, work_.is_private ? apart : together);
    // Where others use the machine, each stretch waits for cores: fewer have to do.
    const bool enough = nanoseconds_now() - begin_ > kMostNs && next_ % kStretches + 1 >= kLeastStretches;
    next_ = enough ? (next_ / kStretches + 1) * kStretches : next_ + 1;
    begin_ = next_ % kStretches == 0 ? nanoseconds_now() : begin_;
  }

  const Work& work_;
  std::vector<Done> done_;
  std::barrier<> gate_;
  double best_ = 0;
  // Changed by the first thread while the others wait at the gate.
  size_t next_ = 0;
  int64_t begin_ = nanoseconds_now();  // of the stretches of one loop
};

struct Arithmetic {
  std::vector<ArithmeticLoop> loops;
  bool is_private = true;  // a thread takes nothing from another: the best of each counts, also at different times
  struct State {};

  State prepare(size_t /*thread*/) const { return {}; }
  double step(const ArithmeticLoop& loop, State& /*state*/) const {
    constexpr int64_t steps = 20'000;  // to look at the clock takes long beside fewer
    loop.run(steps);
    return loop.operations * steps;
  }
};

struct Stream {
  std::vector<StreamLoop> loops;
  int64_t floats = 0;  // of each of three arrays
  bool is_private = true;
  bool beyond_caches = false;
  const Block* block = nullptr;  // which threads share
  struct State {
    float* arrays = nullptr;
    int64_t at = 0;
  };

  State prepare(size_t thread) const {
    State state{.arrays = block->at(3 * floats * static_cast<int64_t>(thread))};
    if (beyond_caches) {  // which hold what was measured before: the end of all that is read now takes its place
      const int64_t count = 3 * floats / kPassFloats * kPassFloats;
      loops.front().run(state.arrays, state.arrays, state.arrays, count, 1);
    }
    return state;
  }
  /// Several passes over small arrays, a part of large ones: so many floats between two looks at the clock. What a
  /// piece reads and writes lies side by side, so that all of the arrays is touched in order: where they are larger
  /// than caches, nothing of what comes next is still in one.
  double step(const StreamLoop& loop, State& state) const {
    constexpr int64_t most = int64_t{1} << 22;
    const int64_t all = 3 * floats;
    const int64_t least = loop.arrays * kPassFloats;
    int64_t done = 0;
    while (done < most) {
      state.at = all - state.at < least ? 0 : state.at;
      const int64_t count = std::min(all - state.at, most) / least * kPassFloats;
      float* const first = state.arrays + state.at;
      float* const second = first + (loop.arrays == 1 ? 0 : count);
      const int64_t passes = std::max<int64_t>(1, kCallFloats / (count * loop.arrays));
      loop.run(loop.arrays == 1 ? state.arrays : first, second, loop.arrays == 3 ? second + count : second, count,
               passes);
      state.at += count * loop.arrays;
      done += count * loop.arrays * passes;
    }
    return static_cast<double>(done) * 4;
  }
};

Rates measure(const CpuMachine& machine, const std::vector<Level>& levels, const Block& block, int threads) {
  Rates rates{.threads = threads};
  for (size_t i = 0; i < kUnits; ++i) {
    const Arithmetic work{.loops = arithmetic_loops(static_cast<Unit>(i), machine)};
    rates.operations.push_back(Race(threads, work).run());
  }
  for (size_t i = 0; i < levels.size(); ++i) {
    Stream work{.loops = stream_loops(machine),
                .floats = floats_for(levels, i, threads, 4 * block.floats()),
                .is_private = !levels[i].shared,
                .beyond_caches = levels[i].bytes == 0,
                .block = &block};
    std::erase_if(work.loops, [&](const StreamLoop& loop) { return loop.past_caches && levels[i].bytes != 0; });
    rates.bytes.push_back(Race(threads, work).run());
  }
  // A cache that cannot be told from what is behind it is at least as fast.
  for (size_t i = levels.size() - 1; i-- > 0;) {
    rates.bytes[i] = std::max(rates.bytes[i], rates.bytes[i + 1]);
  }
  return rates;
}

}  // namespace

Roofs measure_roofs(const CpuMachine& machine) {
  Roofs roofs{.levels = levels_of(machine)};
  const int cores = static_cast<int>(std::max<int64_t>(1, machine.cores));
  // Twice what caches hold: where it is read again, they hold other things.
  const Level& last = roofs.levels[roofs.levels.size() - 2];
  const int64_t cached = last.bytes * (last.shared ? 1 : cores);
  const int64_t least = int64_t{cores} * 3 * 4 * kPassFloats;
  const Block block(
      std::max(least, std::min({std::max(2 * cached, int64_t{64} << 20), kMostMemoryBytes, free_memory() / 8})) / 4);
  for (int threads = 1; threads < cores; threads *= 2) {
    roofs.rates.push_back(measure(machine, roofs.levels, block, threads));
  }
  roofs.rates.push_back(measure(machine, roofs.levels, block, cores));
  // More threads together are no slower than fewer.
  for (size_t i = 1; i < roofs.rates.size(); ++i) {
    for (size_t k = 0; k < kUnits; ++k) {
      roofs.rates[i].operations[k] = std::max(roofs.rates[i].operations[k], roofs.rates[i - 1].operations[k]);
    }
    for (size_t k = 0; k < roofs.levels.size(); ++k) {
      roofs.rates[i].bytes[k] = std::max(roofs.rates[i].bytes[k], roofs.rates[i - 1].bytes[k]);
    }
  }
  return roofs;
}

}  // namespace tenon::roofs
