// What `tenon explain` draws: the page, and pictures by Graphviz.
#pragma once

#include "cli/words/arguments.h"
#include "compiler/lowered.h"
#include "report/model_report.h"
#include "tenon/executable.h"

namespace tenon::cli {

/// Writes the files of `--svg`, `--html` and `--dot`. Error: a file that cannot be written, or no Graphviz for `--svg`.
void write_pictures(const Arguments& arguments, const compiler::Lowered& lowered, const Executable& executable,
                    const report::Figures& bound);

}  // namespace tenon::cli
