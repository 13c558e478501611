// `tenon explain --mesh`: how a model lies on ranks.
#pragma once

#include "cli/words/arguments.h"

namespace tenon::cli {

/// Each tensor's layout, each collective with its bytes and who needs it, and what runs whole although an operand is in
/// parts. No rank is started.
int explain_mesh(const Arguments& arguments);

}  // namespace tenon::cli
