// What `tenon train` tells: before, after each epoch, at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/trainer.h"

namespace tenon::cli {

/// One epoch, as it was.
struct EpochRow {
  int64_t epoch = 0;  // from 1
  double loss = 0;    // mean over the steps
  std::optional<train::Score> score = {};
  double microseconds = 0;
};

/// The mean of the losses of an epoch, counted from 0.
double epoch_loss(const train::Trainer& trainer, int64_t epoch);

/// What is trained on what, in a few lines.
void print_start(const train::Trainer& trainer, double compile_us);
void print_heading(bool has_scores, bool has_accuracy);
void print_epoch(const EpochRow& row);
void print_train_json(const train::Trainer& trainer, const std::vector<EpochRow>& rows, double compile_us,
                      const std::vector<std::string>& files);

/// Losses over steps: of the batches, and of what is held out.
std::string curve_svg(const train::Trainer& trainer);

/// The bar of a share: "[#####-----]  50 %", with `width` marks.
std::string progress_bar(double share, size_t width = 24);

/// Time that is left at the pace so far: "", as long as nothing is known, "42 s", "3 min 20 s", "2 h 5 min".
std::string time_left_text(double seconds);

/// Begins with its making.
class Pace {
 public:
  /// `done` of `all` steps were made before, by a run that is gone on with.
  Pace(int64_t done, int64_t all) : first_(done), all_(all) {}

  /// After `done` steps: a bar, the step, `text` and the time left. In `columns` characters, if they hold the rest, the
  /// bar is as long as is left for it.
  std::string line(int64_t done, std::string_view text, size_t columns) const;

 private:
  const int64_t first_;
  const int64_t all_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tenon::cli
