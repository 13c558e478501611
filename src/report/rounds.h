// Times that were taken in rounds, kept in a file, and held against others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/bindings.h"

namespace tenon::report {

/// At one binding, the median of a few runs in microseconds, of each round. Rounds go through all bindings in turn, so
/// that what changes on the machine meanwhile is in the scatter of the medians.
struct Rounds {
  Bindings bindings;
  std::vector<double> medians = {};
  /// What a loop that never changes took beside each round, in microseconds: the state of the machine. None in files of
  /// earlier versions.
  std::vector<double> references = {};

  double median() const;
};

/// Microseconds of that loop: arithmetic, and more memory than caches near the core have, on the calling thread.
double reference_microseconds();

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
  double noise = 0;   // the share by which times move that nothing in the program moves; 0: they are taken in turn

  /// "faster", "slower": by more than margin and noise. "same": no difference that counts, and the interval is narrow
  /// enough to say so. "too noisy to tell": neither can be said.
  std::string_view word() const;
};
/// Rounds of one that were taken beside those of the other: what disturbs both drops out.
Verdict compare_in_turn(const Rounds& now, const Rounds& before);
/// Rounds of two processes at two times. These differ by more than their rounds show: by what the rounds of each
/// scatter, and by how much slower or faster the machine itself was.
Verdict compare_apart(const Rounds& now, const Rounds& before);

}  // namespace tenon::report
