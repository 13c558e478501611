// Everything that `--json` and a page say of one compiled model.
#pragma once

#include <string>
#include <vector>

#include "compiler/lowered.h"
#include "report/json.h"
#include "report/roofline.h"
#include "report/steps.h"
#include "tenon/bindings.h"
#include "tenon/executable.h"
#include "tenon/trace.h"

namespace tenon::report {

/// A model at sizes, or at none.
struct Figures {
  std::vector<BoundStep> steps = {};
  Bindings bindings = {};
  Roofline roofline = {};
  std::vector<TraceEvent> events = {};  // of one run, for a page
  std::string title = {};               // empty: the program's name

  /// A model whose outputs are its inputs has sizes and no steps.
  bool has_sizes() const { return !steps.empty() || !bindings.empty(); }
};

/// What `tenon explain --json` prints.
Json model_json(const Executable& executable, const Figures& figures);

/// The same, and what a page shows beside it: the graph, loops, assembly, and with figures memory over time, threads
/// through a run, and sizes. `executable` is what was made of `lowered`.
Json page_data(const compiler::Lowered& lowered, const Executable& executable, const Figures& figures);

}  // namespace tenon::report
