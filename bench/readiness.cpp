// Whether a chain of stages runs faster when tiles wait for tiles than when one thread takes a strip of rows through
// all stages (docs/decisions/0021-pipelines.md). The same chain runs in three ways on the pool of the runtime, with
// plain loops instead of compiled kernels:
//   steps      one stage after the other, all threads wait at the end of each
//   strips     a thread takes a strip of rows through all stages tile by tile, with windows of its own for what is
//              between stages; a halo is kept from tile to tile and computed again at the beginning of a strip
//   readiness  a task is a tile of a stage; it can run once the tiles that it reads are done, which a counter for each
//              task tells; any thread takes any task that can run, and what is between stages is in memory as a whole
// Each way runs with the tile that is fastest for it. The three results must be the same bits.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "support/report.h"
#include "support/row_chains.h"
#include "support/timing.h"

namespace {

using bench::Chain;
using bench::read_clock;
using bench::Rows;
using bench::Stage;
using tenon::Pool;

constexpr int kRounds = 15;
constexpr int kTrialRounds = 3;  // to choose a tile

/// What a chain reads, what it writes, and all that is between, as a whole.
struct Buffers {
  Buffers(const Chain& chain, int64_t of) : rows(of), input(bench::spread_numbers(of * chain.stages[0].width, 1)) {
    for (const Stage& stage : chain.stages) {
      results.emplace_back(static_cast<size_t>(rows * stage.width));
    }
  }
  Rows input_of(const Chain& chain, size_t stage) {
    return {stage == 0 ? input.data() : results[stage - 1].data(), chain.stages[stage == 0 ? 0 : stage - 1].width, 0};
  }
  Rows output_of(const Chain& chain, size_t stage) { return {results[stage].data(), chain.stages[stage].width, 0}; }

  int64_t rows;
  std::vector<float> input;
  std::vector<std::vector<float>> results;
};

void run_steps(Pool& pool, const Chain& chain, Buffers& buffers, int64_t tile) {
  for (size_t s = 0; s < chain.stages.size(); ++s) {
    const Rows in = buffers.input_of(chain, s), out = buffers.output_of(chain, s);
    pool.parallel_for(buffers.rows, tile,
                      [&](int64_t begin, int64_t end, int) { chain.stages[s].run(in, out, begin, end, buffers.rows); });
  }
}

/// What one thread has of what is between stages.
class Windows {
 public:
  Windows(const Chain& chain, int64_t tile) {
    int64_t halo = 0;
    for (const Stage& stage : chain.stages) {
      halo += stage.halo;
    }
    rows_ = 2 * tile + 4 * halo;
    for (const Stage& stage : chain.stages) {
      data_.emplace_back(static_cast<size_t>(rows_ * stage.width));
    }
    first_.resize(data_.size());
  }

  void begin(size_t stage, int64_t row) { first_[stage] = row; }

  /// Where there is room for rows up to `end`: when a window is full, rows from `kept` on move to its beginning.
  Rows make_room(size_t stage, int64_t width, int64_t kept, int64_t done, int64_t end) {
    if (end > first_[stage] + rows_) {
      float* const data = data_[stage].data();
      std::memmove(data, data + (kept - first_[stage]) * width,
                   static_cast<size_t>(std::max<int64_t>(done - kept, 0) * width) * sizeof(float));
      first_[stage] = kept;
    }
    return {data_[stage].data(), width, first_[stage]};
  }

 private:
  int64_t rows_ = 0;
  std::vector<std::vector<float>> data_;
  std::vector<int64_t> first_;
};

/// One strip: rows [begin, end) of the last stage, and what they need of those before it.
void run_strip(const Chain& chain, Buffers& buffers, Windows& windows, int64_t tile, int64_t begin, int64_t end) {
  const size_t count = chain.stages.size();
  std::vector<int64_t> done(count), next(count), kept(count);
  // Of stage s, rows up to next[s] are needed for a tile that ends at `to`, and rows from kept[s] on for one that
  // begins at `from`.
  const auto need = [&](int64_t from, int64_t to) {
    for (size_t s = count; s-- > 0;) {
      next[s] = to, kept[s] = from;
      to = std::min(to + chain.stages[s].halo, buffers.rows);
      from = std::max<int64_t>(from - chain.stages[s].halo, 0);
    }
  };
  need(begin, begin);
  for (size_t s = 0; s < count; ++s) {
    done[s] = kept[s];
    windows.begin(s, kept[s]);
  }
  for (int64_t row = begin; row < end; row += tile) {
    need(row, std::min(row + tile, end));
    Rows in = buffers.input_of(chain, 0);
    for (size_t s = 0; s < count; ++s) {
      const Rows out = s + 1 == count ? buffers.output_of(chain, s)
                                      : windows.make_room(s, chain.stages[s].width, kept[s], done[s], next[s]);
      if (next[s] > done[s]) {
        chain.stages[s].run(in, out, done[s], next[s], buffers.rows);
        done[s] = next[s];
      }
      in = out;
    }
  }
}

void run_strips(Pool& pool, const Chain& chain, Buffers& buffers, std::vector<Windows>& windows, int64_t tile,
                int64_t strip) {
  pool.parallel_for(buffers.rows, strip, [&](int64_t begin, int64_t end, int worker) {
    run_strip(chain, buffers, windows[static_cast<size_t>(worker)], tile, begin, end);
  });
}

/// Tasks (stage, tile) with a counter each of the tiles that they still wait for. A thread first takes the task that
/// became ready last by what it did itself, whose data are in its cache; then the next tile of the first stage of its
/// share of the rows; then what others have ready, the oldest first; then what others have of the first stage.
class Tasks {
 public:
  Tasks(const Chain& chain, int64_t rows, int64_t tile, int threads)
      : chain_(chain),
        rows_(rows),
        tile_(tile),
        tiles_((rows + tile - 1) / tile),
        waiting_(chain.stages.size() * static_cast<size_t>(tiles_)),
        shares_(static_cast<size_t>(threads)) {}

  void run(Pool& pool, Buffers& buffers) {
    const auto threads = std::ssize(shares_);
    for (size_t s = 1; s < chain_.stages.size(); ++s) {
      for (int64_t t = 0; t < tiles_; ++t) {
        counter(s, t).store(static_cast<int32_t>(last_near(s, t) - first_near(s, t) + 1), std::memory_order_relaxed);
      }
    }
    for (int64_t i = 0; i < threads; ++i) {
      shares_[static_cast<size_t>(i)].next.store(tiles_ * i / threads, std::memory_order_relaxed);
      shares_[static_cast<size_t>(i)].end = tiles_ * (i + 1) / threads;
    }
    left_.store(tiles_ * std::ssize(chain_.stages), std::memory_order_relaxed);
    pool.parallel_for(threads, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        work(static_cast<size_t>(i), buffers);
      }
    });
  }

 private:
  struct Task {
    size_t stage = 0;
    int64_t tile = 0;
  };
  struct alignas(64) Share {
    std::atomic<int64_t> next = 0;  // of the tiles of the first stage
    int64_t end = 0;
    std::mutex mutex;
    std::vector<Task> ready;
    std::atomic<int64_t> count = 0;  // of `ready`, so that others need not lock to see that there is nothing
  };

  std::atomic<int32_t>& counter(size_t stage, int64_t tile) {
    return waiting_[stage * static_cast<size_t>(tiles_) + static_cast<size_t>(tile)];
  }
  /// Which tiles of the stage before, or of the stage behind, have rows that this one reads, or that read this one's.
  int64_t reach(size_t stage) const { return (chain_.stages[stage].halo + tile_ - 1) / tile_; }
  int64_t first_near(size_t stage, int64_t tile) const { return std::max<int64_t>(tile - reach(stage), 0); }
  int64_t last_near(size_t stage, int64_t tile) const { return std::min(tile + reach(stage), tiles_ - 1); }

  bool take_ready(Share& from, bool newest, Task& task) {
    if (from.count.load(std::memory_order_relaxed) == 0) {
      return false;
    }
    const std::lock_guard lock(from.mutex);
    if (from.ready.empty()) {
      return false;
    }
    const auto at = newest ? from.ready.end() - 1 : from.ready.begin();
    task = *at;
    from.ready.erase(at);
    from.count.store(std::ssize(from.ready), std::memory_order_relaxed);
    return true;
  }

  static bool take_first(Share& from, Task& task) {
    if (from.next.load(std::memory_order_relaxed) >= from.end) {
      return false;
    }
    task = {0, from.next.fetch_add(1, std::memory_order_relaxed)};
    return task.tile < from.end;
  }

  bool take(size_t me, Task& task) {
    if (take_ready(shares_[me], true, task) || take_first(shares_[me], task)) {
      return true;
    }
    for (size_t i = 1; i < shares_.size(); ++i) {
      if (take_ready(shares_[(me + i) % shares_.size()], false, task)) {
        return true;
      }
    }
    for (size_t i = 1; i < shares_.size(); ++i) {
      if (take_first(shares_[(me + i) % shares_.size()], task)) {
        return true;
      }
    }
    return false;
  }

  void work(size_t me, Buffers& buffers) {
    Task task;
    while (left_.load(std::memory_order_acquire) > 0) {
      if (!take(me, task)) {
        std::this_thread::yield();
        continue;
      }
      const auto [stage, tile] = task;
      chain_.stages[stage].run(buffers.input_of(chain_, stage), buffers.output_of(chain_, stage), tile * tile_,
                               std::min((tile + 1) * tile_, rows_), rows_);
      if (stage + 1 < chain_.stages.size()) {
        for (int64_t t = first_near(stage + 1, tile); t <= last_near(stage + 1, tile); ++t) {
          if (counter(stage + 1, t).fetch_sub(1, std::memory_order_acq_rel) == 1) {
            const std::lock_guard lock(shares_[me].mutex);
            shares_[me].ready.push_back({stage + 1, t});
            shares_[me].count.store(std::ssize(shares_[me].ready), std::memory_order_relaxed);
          }
        }
      }
      left_.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  const Chain& chain_;
  int64_t rows_, tile_, tiles_;
  std::vector<std::atomic<int32_t>> waiting_;
  std::vector<Share> shares_;
  std::atomic<int64_t> left_ = 0;
};

/// A way to run a chain, with a choice of tiles.
struct Way {
  std::string tile;
  std::function<void()> run;
};

double seconds_of(const Way& way) {
  const double begin = read_clock(CLOCK_MONOTONIC);
  way.run();
  return read_clock(CLOCK_MONOTONIC) - begin;
}

Way fastest(std::vector<Way> ways) {
  std::vector<double> best(ways.size(), 1e9);
  for (int round = 0; round < kTrialRounds; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      best[i] = std::min(best[i], seconds_of(ways[i]));
    }
  }
  return ways[static_cast<size_t>(std::ranges::min_element(best) - best.begin())];
}

void measure(bench::Report& report, const Chain& chain, int64_t rows, int threads) {
  const std::string name = fmt::format("{}.{}.{}_threads", chain.name, rows, threads);
  if (!report.wants(name)) {
    return;
  }
  Pool pool(threads);
  const Pool::KeepAwake awake(pool);
  Buffers buffers(chain, rows);
  std::vector<Way> steps, strips, readiness;
  for (const int64_t tile : {16, 64, 256, 1024}) {
    steps.push_back({fmt::format("{}", tile), [&, tile] { run_steps(pool, chain, buffers, tile); }});
    const auto tasks = std::make_shared<Tasks>(chain, rows, tile, threads);
    readiness.push_back({fmt::format("{}", tile), [&, tasks] { tasks->run(pool, buffers); }});
    const auto windows = std::make_shared<std::vector<Windows>>(threads, Windows(chain, tile));
    for (const int64_t of_a_thread : {1, 4, 16}) {
      const int64_t strip = (rows + threads * of_a_thread - 1) / (threads * of_a_thread);
      if (tile <= strip) {
        strips.push_back({fmt::format("{}, {} a thread", tile, of_a_thread),
                          [&, windows, tile, strip] { run_strips(pool, chain, buffers, *windows, tile, strip); }});
      }
    }
  }
  std::vector<Way> ways = {fastest(steps), fastest(strips), fastest(readiness)};
  std::vector<float> expected;
  bool same = true;
  for (const Way& way : ways) {
    std::ranges::fill(buffers.results.back(), 0.f);
    way.run();
    const std::vector<float>& result = buffers.results.back();
    expected = expected.empty() ? result : expected;
    same &= std::memcmp(expected.data(), result.data(), result.size() * sizeof(float)) == 0;
  }
  std::vector<std::vector<double>> times(ways.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      times[i].push_back(seconds_of(ways[i]));
    }
  }
  const double us[] = {1e6 * bench::median(times[0]), 1e6 * bench::median(times[1]), 1e6 * bench::median(times[2])};
  report.add(name, same ? us[1] / us[2] : std::nan(""), "x strips", same ? std::nullopt : std::optional(0.0),
             bench::Better::higher,
             same ? fmt::format("steps {:.0f} us (tiles of {}), strips {:.0f} us ({}), readiness {:.0f} us ({})", us[0],
                                ways[0].tile, us[1], ways[1].tile, us[2], ways[2].tile)
                  : "the results differ");
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  for (const Chain& chain : bench::chains()) {
    for (const int64_t rows : {4096, 16384, 65536}) {
      for (const int threads : {2, 4, 8, 16}) {
        if (threads <= static_cast<int>(std::thread::hardware_concurrency())) {
          measure(report, chain, rows, threads);
        }
      }
    }
  }
  return report.finish();
}
