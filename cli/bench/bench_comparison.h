// What `--save` and `--against` of `tenon bench` ask for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/measured.h"
#include "cli/print/json.h"
#include "cli/words/arguments.h"
#include "report/rounds.h"

namespace tenon::cli {

using report::Rounds;
using report::SavedBench;
using report::Verdict;

/// Times of one model in rounds, held against those of another model, taken in turn, or those of a file.
class BenchComparison {
 public:
  /// Error: the file of `--against` is none of `--save`.
  explicit BenchComparison(const Arguments& arguments);

  bool is_asked() const { return save_ || against_; }
  bool is_against() const { return against_.has_value(); }

  /// Before anything is measured. Error: the file of `--against` has no times at one of these sizes, or the model of
  /// that name cannot be loaded or has no such sizes.
  void open(const std::vector<Bindings>& points, const std::function<Measured(const std::string& word)>& load_other);

  /// Measures, and writes the file of `--save`.
  void run(const Measured& now, const std::vector<Bindings>& points, const BenchSettings& settings,
           const Arguments& arguments);

  /// Whether something got slower by more than noise.
  bool is_slower() const;
  /// A line for each point; nothing where nothing was compared.
  std::string text() const;
  Json to_json() const;

 private:
  bool is_paired() const { return against_ && !saved_; }
  Verdict verdict(size_t point) const {
    return is_paired() ? report::compare_in_turn(mine_[point], others_[point])
                       : report::compare_apart(mine_[point], others_[point]);
  }
  const Rounds& saved_at(const Bindings& bindings) const;

  std::optional<std::string> save_, against_;
  std::optional<SavedBench> saved_;
  std::optional<Measured> other_;
  std::string other_subject_;          // of a file of another model or machine: what both are
  std::vector<Rounds> mine_, others_;  // others_: where something is compared
};

}  // namespace tenon::cli
