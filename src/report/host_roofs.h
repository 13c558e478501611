// The roofs of this machine, measured once and kept.
#pragma once

#include <functional>

#include "roofs/roofs.h"

namespace tenon::report {

struct RoofsOptions {
  bool keep = true;                        ///< in the user's cache directory, and read from there
  std::function<void()> before_measuring;  ///< called where it takes a while
};

/// What an earlier call measured on this machine and kept; else measured now.
roofs::Roofs host_roofs(const RoofsOptions& options);

/// Measured once more, since something was faster than `roofs`: the higher of both, which is kept.
roofs::Roofs host_roofs_again(const roofs::Roofs& roofs, const RoofsOptions& options);

}  // namespace tenon::report
