// `tenon explain A --diff B`: what is compiled, read and written.
#pragma once

#include "cli/print/json.h"
#include "cli/words/arguments.h"

namespace tenon::cli {

/// What `tenon explain` knows of one model.
struct ExplainOne {
  Json (*read)(const Arguments& arguments);   // what `--json` prints of the steps
  void (*check)(const Arguments& arguments);  // Error: options that do not go together
};

/// Compiles both, or reads what was printed of them, and shows what differs. The exit status.
int explain_two(const Arguments& arguments, const ExplainOne& one);

}  // namespace tenon::cli
