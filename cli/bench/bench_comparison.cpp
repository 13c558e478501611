#include "cli/bench/bench_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/fail.h"
#include "cli/models/files.h"
#include "cli/print/terminal.h"
#include "cli/print/units.h"
#include "cli/words/inputs.h"

namespace tenon::cli {
namespace {

using Repeated = std::function<double()>;

/// A function that runs for a while and gives the median time.
Repeated repeated(const Measured& measured, const Bindings& sizes, const BenchSettings& settings,
                  const Arguments& arguments) {
  const PreparedInputs inputs = prepare_inputs(measured.ports, sizes, arguments.all("--input"));
  const auto state = std::make_shared<StatefulRun>(*measured.executable, measured.aliases, inputs.arrays());
  const RunOptions options{
      .threads = settings.threads, .bindings = inputs.bindings, .flush_denormals = settings.flush_denormals};
  first_run(*measured.executable, inputs.bindings, [&] { (*state)(options); });
  sample([&] { (*state)(options); }, settings.repeat, settings.microseconds / 4);  // what is cold is no round
  return [=] {
    constexpr double kLeast = 1e-3;  // a clock may not see a run that does nothing
    return std::max(sample([&] { (*state)(options); }, settings.repeat, settings.microseconds / 4).median(), kLeast);
  };
}

}  // namespace

BenchComparison::BenchComparison(const Arguments& arguments)
    : save_(arguments.find("--save")), against_(arguments.find("--against")) {
  if (against_ && against_->ends_with(".json")) {
    saved_ = report::read_saved(*against_);
  }
}

const Rounds& BenchComparison::saved_at(const Bindings& bindings) const {
  const auto found = std::ranges::find(saved_->points, bindings, &Rounds::bindings);
  if (found == saved_->points.end()) {
    fail("`{}` has no times at {}; its first are at {}", *against_, bindings.to_string(),
         saved_->points.empty() ? "no sizes" : saved_->points[0].bindings.to_string());
  }
  return *found;
}

void BenchComparison::open(const std::vector<Bindings>& points,
                           const std::function<Measured(const std::string& word)>& load_other) {
  if (is_paired()) {
    other_.emplace(load_other(*against_));
  }
  for (const Bindings& point : points) {
    if (saved_) {
      (void)saved_at(point);
    } else if (other_) {
      (void)complete_bindings(other_->ports, point);
    }
  }
}

void BenchComparison::run(const Measured& now, const std::vector<Bindings>& points, const BenchSettings& settings,
                          const Arguments& arguments) {
  constexpr int kRounds = 8;
  std::vector<Repeated> run_mine;
  std::vector<Repeated> run_others;
  for (const Bindings& point : points) {
    mine_.push_back({.bindings = point});
    run_mine.push_back(repeated(now, point, settings, arguments));
    if (other_) {
      others_.push_back({.bindings = point});
      run_others.push_back(repeated(*other_, point, settings, arguments));
    } else if (saved_) {
      others_.push_back(saved_at(point));
    }
  }
  const Progress progress;
  for (int round = 0; round < kRounds; ++round) {
    progress.show(fmt::format("round {} of {}", round + 1, kRounds));
    for (size_t i = 0; i < points.size(); ++i) {
      if (other_ && round % 2 != 0) {  // neither is always the first
        others_[i].medians.push_back(run_others[i]());
      }
      const double before = report::reference_microseconds();
      mine_[i].medians.push_back(run_mine[i]());
      mine_[i].references.push_back(std::min(before, report::reference_microseconds()));
      if (other_ && round % 2 == 0) {
        others_[i].medians.push_back(run_others[i]());
      }
    }
  }
  progress.show("");
  if (saved_ && (saved_->model != now.name || saved_->code != now.code)) {
    other_subject_ =
        fmt::format("the file is of {} on {}, this is {} on {}", saved_->model, saved_->code, now.name, now.code);
  }
  if (save_) {
    write_text(*save_, report::saved_text({.model = now.name, .code = now.code, .points = mine_}));
  }
}

bool BenchComparison::is_slower() const {
  for (size_t i = 0; i < others_.size(); ++i) {
    if (verdict(i).word() == "slower") {
      return true;
    }
  }
  return false;
}

std::string BenchComparison::text() const {
  if (others_.empty()) {
    return "";
  }
  std::string text = fmt::format("  against {}, {}:\n", *against_, is_paired() ? "in turn" : "measured earlier");
  if (!other_subject_.empty()) {
    text += fmt::format("  {}: {}\n", red("not the same program"), other_subject_);
  }
  for (size_t i = 0; i < others_.size(); ++i) {
    const Verdict at = verdict(i);
    text += fmt::format("  {}: {}, {} instead of {}, ratio {:.3f} ({:.3f} to {:.3f} with 95 % confidence{})\n",
                        mine_[i].bindings.empty() ? "all" : mine_[i].bindings.to_string(), at.word(),
                        time_text(mine_[i].median()), time_text(others_[i].median()), at.ratio, at.low, at.high,
                        at.noise == 0 ? "" : fmt::format("; noise {:.0f} %", 100 * at.noise));
  }
  return text;
}

Json BenchComparison::to_json() const {
  Json points = Json::array();
  for (size_t i = 0; i < others_.size(); ++i) {
    const Verdict at = verdict(i);
    points.push(Json::object()
                    .set("bindings", mine_[i].bindings.to_string())
                    .set("verdict", at.word())
                    .set("now_us", mine_[i].median())
                    .set("before_us", others_[i].median())
                    .set("ratio", at.ratio)
                    .set("low", at.low)
                    .set("high", at.high)
                    .set("noise", at.noise));
  }
  return Json::object().set("other", *against_).set("in_turn", is_paired()).set("points", points);
}

}  // namespace tenon::cli
