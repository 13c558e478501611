// The roofs of this machine, measured once and kept.
#pragma once

#include "roofs/roofs.h"

namespace tenon::cli {

/// What an earlier call measured on this machine and kept in the user's cache directory; else measured now, and kept
/// where `keep`.
roofs::Roofs host_roofs(bool keep);

/// Measured once more, since something was faster than `roofs`: the higher of both, which is kept where `keep`.
roofs::Roofs host_roofs_again(const roofs::Roofs& roofs, bool keep);

}  // namespace tenon::cli
