// Times that were taken in rounds, kept in a file, and held against others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/bindings.h"

namespace tenon::cli {

/// At one binding, the median of a few runs in microseconds, of each round. Rounds go through all bindings in turn, so
/// that what changes on the machine meanwhile is in the scatter of the medians.
struct Rounds {
  Bindings bindings;
  std::vector<double> medians = {};

  double median() const;
};

/// What `tenon bench --save` writes.
struct SavedBench {
  std::string model, code;
  std::vector<Rounds> points = {};
};
std::string saved_text(const SavedBench& bench);
/// Error: the file is none that `tenon bench --save` wrote.
SavedBench read_saved(const std::string& path);

/// The time now by the time before, and the interval that holds it with 95 % confidence.
struct Verdict {
  double ratio = 1;
  double low = 1;
  double high = 1;
  double margin = 0;  // differences up to this share count as none, whatever the interval

  /// "faster", "slower"; "same" where the interval holds what counts as none.
  std::string_view word() const;
};
/// `paired`: a round of one was taken beside that of the other, so that what disturbs both drops out. Else they are of
/// different processes, which differ by more than rounds show, and the margin is wider.
Verdict compare_rounds(const std::vector<double>& now, const std::vector<double>& before, bool paired);

}  // namespace tenon::cli
