#include "cli/print/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/bench/plot.h"
#include "cli/print/json.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"

namespace tenon::cli {
namespace {

constexpr size_t kMostLossPoints = 200;

struct Counts {
  int64_t trained = 0, frozen = 0;
  int64_t statistics = 0;  // of norms
  int64_t numbers = 0;     // trained
};
Counts counts_of(const train::Trainer& trainer) {
  const train::Trainable& model = trainer.model();
  Counts counts;
  for (size_t i = 0; i < model.training.parameters.size(); ++i) {
    const Parameter& parameter = model.training.parameters[i];
    const bool is_statistic = !model.inference.parameters[i].trainable;  // where nothing was frozen by name
    ++(is_statistic ? counts.statistics : parameter.trainable ? counts.trained : counts.frozen);
    counts.numbers += parameter.trainable ? parameter.size() : 0;
  }
  return counts;
}

/// Whether steps move the statistics.
bool goes_by_the_batch(const Model& model) {
  return std::ranges::any_of(model.graph.outputs(), [&](const Output& output) {
    return output.aliases >= static_cast<int>(model.data_inputs);
  });
}

const std::string& name_of(const train::Trainer& trainer) { return trainer.model().training.graph.name(); }

std::string plural(int64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

}  // namespace

double epoch_loss(const train::Trainer& trainer, int64_t epoch) {
  const int64_t steps = trainer.steps_per_epoch();
  const auto begin = trainer.losses().begin() + epoch * steps;
  double sum = 0;
  std::for_each(begin, begin + steps, [&](double loss) { sum += loss; });
  return sum / static_cast<double>(steps);
}

void print_start(const train::Trainer& trainer, double compile_us) {
  const Counts counts = counts_of(trainer);
  const train::Settings& settings = trainer.settings();
  fmt::print("{}: {} trained, {} numbers{}\n", bold(name_of(trainer)), plural(counts.trained, "parameter"),
             count_text(static_cast<double>(counts.numbers)),
             counts.frozen == 0 ? "" : fmt::format("; {} frozen", counts.frozen));
  if (counts.statistics > 0) {
    const std::string statistics = plural(counts.statistics, "statistic");
    fmt::print("  batch norms {}\n", goes_by_the_batch(trainer.model().training)
                                         ? fmt::format("go by the batch, and keep {}", statistics)
                                         : fmt::format("go by the {} that the file has, which stay", statistics));
  }
  fmt::print("  {} to train on{}, {} an epoch\n", plural(trainer.trained_on(), "example"),
             trainer.held_out() == 0 ? "" : fmt::format(", {} held out", trainer.held_out()),
             plural(trainer.steps_per_epoch(), "step"));
  fmt::print("  {}, {} at a rate of {}, batches of {}; compiled once in {}, {}\n", settings.objective.loss,
             settings.optimizer, settings.rate, settings.batch, time_text(compile_us),
             trainer.program() == nullptr ? "in parts, by a mesh"
                                          : fmt::format("{} kernels", trainer.program()->kernel_count()));
}

void print_heading(bool has_scores, bool has_accuracy) {
  fmt::print("  {:>5} {:>11}{}{} {:>10}\n", "epoch", "loss", has_scores ? fmt::format(" {:>11}", "held out") : "",
             has_accuracy ? fmt::format(" {:>9}", "accuracy") : "", "time");
}

void print_epoch(const EpochRow& row) {
  const bool has_accuracy = row.score && row.score->accuracy;
  fmt::print("  {:>5} {:>11.5g}{}{} {:>10}\n", row.epoch, row.loss,
             row.score ? fmt::format(" {:>11.5g}", row.score->loss) : "",
             has_accuracy ? fmt::format(" {:>9.4f}", *row.score->accuracy) : "", time_text(row.microseconds));
  std::fflush(stdout);
}

void print_train_json(const train::Trainer& trainer, const std::vector<EpochRow>& rows, double compile_us,
                      const std::vector<std::string>& files) {
  const Counts counts = counts_of(trainer);
  const train::Settings& settings = trainer.settings();
  Json epochs = Json::array();
  for (const EpochRow& row : rows) {
    Json epoch = Json::object().set("epoch", row.epoch).set("loss", row.loss);
    if (row.score) {
      epoch.set("held_out_loss", row.score->loss);
      if (row.score->accuracy) {
        epoch.set("accuracy", *row.score->accuracy);
      }
    }
    epochs.push(epoch.set("microseconds", row.microseconds));
  }
  Json::object()
      .set("model", name_of(trainer))
      .set("loss", settings.objective.loss)
      .set("optimizer", settings.optimizer)
      .set("rate", settings.rate)
      .set("batch", settings.batch)
      .set("seed", settings.seed)
      .set("parameters", counts.trained)
      .set("frozen", counts.frozen)
      .set("statistics", counts.statistics)
      .set("trained_numbers", counts.numbers)
      .set("examples", trainer.trained_on())
      .set("held_out", trainer.held_out())
      .set("steps", trainer.steps())
      .set("compiles", trainer.compiles())
      .set("compile_us", compile_us)
      .set("epochs", epochs)
      .set("files", files)
      .print();
}

std::string curve_svg(const train::Trainer& trainer) {
  Line training{.name = "training", .colour = 0, .points = {}};
  const std::vector<double>& losses = trainer.losses();
  const size_t group = (losses.size() + kMostLossPoints - 1) / kMostLossPoints;
  for (size_t begin = 0; begin < losses.size(); begin += group) {
    const size_t end = std::min(begin + group, losses.size());
    double sum = 0;
    std::for_each(losses.begin() + static_cast<std::ptrdiff_t>(begin),
                  losses.begin() + static_cast<std::ptrdiff_t>(end), [&](double loss) { sum += loss; });
    const double mean = sum / static_cast<double>(end - begin);
    if (std::isfinite(mean)) {
      training.points.emplace_back(static_cast<double>(end), mean);
    }
  }
  Line held_out{.name = "held out", .dashed = true, .colour = 1, .points = {}};
  for (const train::ScoredStep& each : trainer.scores()) {
    if (std::isfinite(each.score.loss)) {
      held_out.points.emplace_back(static_cast<double>(each.step), each.score.loss);
    }
  }
  Panel panel{.title = trainer.settings().objective.loss, .x_label = "step", .y_label = "loss", .lines = {training}};
  if (!held_out.points.empty()) {
    panel.lines.push_back(held_out);
  }
  return plot_svg(fmt::format("training {}", name_of(trainer)), {panel});
}

std::string progress_bar(double share, size_t width) {
  share = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<size_t>(share * static_cast<double>(width));
  return fmt::format("[{}{}] {:3.0f} %", std::string(full, '#'), std::string(width - full, '-'), 100 * share);
}

std::string time_left_text(double seconds) {
  if (!(seconds >= 0)) {
    return "";
  }
  constexpr double kLong = 1e8;
  const auto whole = std::llround(std::min(seconds, kLong));
  if (whole < 60) {
    return fmt::format("{} s", whole);
  }
  return whole < 3600 ? fmt::format("{} min {} s", whole / 60, whole % 60)
                      : fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string Pace::line(int64_t done, std::string_view text, size_t columns) const {
  const double share = all_ == 0 ? 1 : static_cast<double>(done) / static_cast<double>(all_);
  const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const int64_t made = done - first_;
  const std::string left =
      made <= 0 ? "" : time_left_text(taken / static_cast<double>(made) * static_cast<double>(all_ - done));
  const std::string rest = fmt::format(" step {} of {}, {}{}{}", done, all_, text, left.empty() ? "" : ", left ", left);
  constexpr size_t kLongest = 24;
  const size_t others = progress_bar(share, 0).size() + rest.size();
  const size_t width = columns > others ? std::min(columns - others, kLongest) : 0;
  return (width > 0 ? progress_bar(share, width) : fmt::format("{:.0f} %", 100 * share)) + rest;
}

}  // namespace tenon::cli
