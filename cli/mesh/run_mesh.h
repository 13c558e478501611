// `tenon run --mesh`.
#pragma once

#include "cli/words/arguments.h"

namespace tenon::cli {

/// This process's part of the run, or all of it where ranks are threads. Gives the exit status.
int run_on_mesh(const Arguments& arguments);

}  // namespace tenon::cli
