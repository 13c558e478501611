// What `tenon train` tells: before, after each epoch, at the end.
#pragma once

#include <string>
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

}  // namespace tenon::cli
