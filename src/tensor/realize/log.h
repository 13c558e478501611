// What is kept and printed of realisations.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "tenon/realizations.h"
#include "tenon/trace.h"
#include "tensor/realize/explain.h"
#include "tensor/realize/programs.h"

namespace tenon::tensors {

/// "train.cpp:41"; empty for no place.
std::string place_of(const std::source_location& where);

/// What log_kernels() (tenon/realizations.h) asks for.
int log_level();

void log_realization(KeptRun run);
/// The last ones, oldest first.
std::vector<KeptRun> kept_runs();

/// A span for whoever watches realizations; `text` is asked for only then. Null where nobody does.
std::shared_ptr<void> begin_span(const std::function<std::string()>& text);

/// Watches one run where the level asks for kernels, and prints them when it ends.
class RunLog {
 public:
  RunLog(const Program& program, bool compiled);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  /// Null where nobody asks.
  Trace* trace() { return trace_ ? &*trace_ : nullptr; }
  /// What has run so far.
  std::vector<TraceEvent> events() const { return trace_ ? trace_->events() : std::vector<TraceEvent>(); }

 private:
  const Program& program_;
  bool prints_ = false;
  std::optional<Trace> trace_;
};

}  // namespace tenon::tensors
