#include "runtime/run/make_executable.h"

#include "runtime/run/engine.h"
#include "runtime/run/segmented.h"

namespace tenon::runtime {

/// A segment that is the whole runs as an engine of its own, with nothing between it and the caller.
Executable make_executable(Segments segments, const RuntimeOptions& options) {
  Segment& first = segments.segments.front();
  if (segments.segments.size() > 1 || !first.binds.empty()) {
    return Runnable::executable(std::make_shared<Segmented>(std::move(segments), options));
  }
  return Runnable::executable(std::make_shared<Engine>(std::move(first.program), std::move(segments.signature),
                                                       EngineCode{.loaded = std::move(segments.code)},
                                                       std::move(first.constraints), options));
}

}  // namespace tenon::runtime
