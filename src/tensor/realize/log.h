// What is kept and printed of realisations.
#pragma once

#include <optional>
#include <source_location>
#include <string>

#include "tenon/realizations.h"
#include "tenon/trace.h"
#include "tensor/realize/programs.h"

namespace tenon::tensors {

/// "train.cpp:41"; empty for no place.
std::string place_of(const std::source_location& where);

void log_realization(Realization realization);

/// Watches one run where the level asks for kernels, and prints them when it ends.
class RunLog {
 public:
  RunLog(const Program& program, bool compiled);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  /// Null where nobody asks.
  Trace* trace() { return trace_ ? &*trace_ : nullptr; }

 private:
  const Program& program_;
  std::optional<Trace> trace_;
};

}  // namespace tenon::tensors
