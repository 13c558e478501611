// The steps of a compiled model at sizes: bytes, operations, time.
#pragma once

#include <string>
#include <vector>

#include "cli/print/json.h"
#include "report/model_report.h"
#include "report/steps.h"
#include "tenon/executable.h"
#include "tenon/machine.h"

namespace tenon::cli {

using report::BoundStep;
using report::pipelines_json;
using report::Roofline;
using report::tiles_of;

/// A line for each step, and their sum. `roofline` may be unknown.
std::string bound_table(const std::vector<BoundStep>& steps, const Roofline& roofline, const Executable& executable,
                        const Bindings& bindings);

/// How many steps there are, on what they run, and at which sizes; the code that is not made here is no code.
std::string lead_text(const Machine& machine, const Executable& executable, const report::Figures& bound);

}  // namespace tenon::cli
