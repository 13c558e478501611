#include "runtime/run/make_executable.h"

#include "base/fail.h"
#include "runtime/run/engine.h"
#include "runtime/run/segmented.h"

namespace tenon::runtime {

/// A segment that is the whole runs as an engine of its own, with nothing between it and the caller.
Executable make_executable(Segments segments, const RuntimeOptions& options) {
  Segment& first = segments.segments.front();
  if (segments.segments.size() > 1 || !first.binds.empty()) {
    return Runnable::executable(std::make_shared<Segmented>(std::move(segments), options));
  }
  std::vector<ProgramInput>& inputs = first.program.inputs;
  TENON_CHECK(inputs.size() == segments.whole.inputs.size(), "{} inputs of a whole that has {}", inputs.size(),
              segments.whole.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].shape = std::move(segments.whole.inputs[i].shape);
    inputs[i].gives = std::move(segments.whole.inputs[i].gives);
  }
  return Runnable::executable(std::make_shared<Engine>(std::move(first.program), std::move(segments.code), 0,
                                                       std::move(first.constraints), options));
}

}  // namespace tenon::runtime
