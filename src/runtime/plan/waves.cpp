#include "runtime/plan/waves.h"

#include <algorithm>

namespace tenon::runtime {
namespace {

/// From here on a step has enough for all threads, and better caches without company.
constexpr double kFullWork = 2 * kLeastSharedWork;
/// How far ahead a step is looked for that may join: far enough for the branches of a block, and soon done.
constexpr size_t kWindow = 16;

bool may_join(double work) { return work >= kChunkWork && work < kFullWork; }

class Forming {
 public:
  Forming(const StepGraph& graph, std::span<const double> work)
      : graph_(graph), work_(work), wave_of_(work.size(), -1) {}

  Waves run() {
    waves_.first.push_back(0);
    for (size_t step = 0; step < work_.size(); ++step) {
      if (wave_of_[step] < 0) {
        begin_wave(step);
      }
    }
    return joined_ ? std::move(waves_) : Waves{};
  }

 private:
  void begin_wave(size_t step) {
    add(step);
    if (may_join(work_[step])) {
      double total = work_[step];
      const size_t end = std::min(step + kWindow, work_.size());
      for (size_t other = step + 1; other < end; ++other) {
        total += joins(other) ? work_[other] : 0;
      }
      for (size_t other = step + 1; other < end && total >= kLeastSharedWork; ++other) {
        if (joins(other)) {
          add(other);
          joined_ = true;
        }
      }
    }
    waves_.first.push_back(static_cast<uint32_t>(waves_.steps.size()));
  }

  bool joins(size_t step) const {
    return wave_of_[step] < 0 && may_join(work_[step]) &&
           std::ranges::all_of(
               graph_.predecessors(step),
               [&](int before) {
                 const int wave = wave_of_[static_cast<size_t>(before)];
                 return wave >= 0 && wave < current();
               });
  }

  void add(size_t step) {
    wave_of_[step] = current();
    waves_.steps.push_back(static_cast<int>(step));
  }

  int current() const { return static_cast<int>(waves_.first.size()) - 1; }

  const StepGraph& graph_;
  std::span<const double> work_;
  std::vector<int> wave_of_;  // -1: in none yet
  Waves waves_;
  bool joined_ = false;
};

}  // namespace

Waves form_waves(const StepGraph& graph, std::span<const double> work, int threads) {
  if (threads == 1 || std::ranges::count_if(work, may_join) < 2) {
    return {};
  }
  return Forming(graph, work).run();
}

}  // namespace tenon::runtime
