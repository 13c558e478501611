// The graph of a lowered model as data that a page lays out and draws.
#pragma once

#include "compiler/lowered.h"
#include "report/json.h"
#include "tenon/executable.h"

namespace tenon::report {

/// `nodes`, each with its `kind` ("input", "output", "constant", "operator"), a `label`, the `step` that computes it (0
/// for none), its `place` and `shape`; and `edges`, each [from, to] by positions in `nodes`, from operand to user.
/// Numbers, and views of one, are left out. `executable` is what was made of `lowered`.
Json graph_json(const compiler::Lowered& lowered, const Executable& executable);

}  // namespace tenon::report
