// `tenon explain A --diff B`: what is compiled, read and written.
#pragma once

#include "cli/print/json.h"
#include "cli/words/arguments.h"

namespace tenon::cli {

/// What `tenon explain` knows of one model.
struct ExplainOne {
  /// What `--json` prints of the steps; `beside_program`: with constants as kernels read them, as a program has them.
  Json (*read)(const Arguments& arguments, bool beside_program);
  void (*check)(const Arguments& arguments);  // Error: options that do not go together
};

/// Compiles both, or reads what was printed of them, and shows what differs. The exit status.
int explain_two(const Arguments& arguments, const ExplainOne& one);

}  // namespace tenon::cli
