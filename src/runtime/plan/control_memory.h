// Memory of the steps whose bodies are programs: loops and conditionals.
#pragma once

#include "runtime/plan/specialization.h"

namespace tenon::runtime {

/// Bytes that the control steps of a specialization need beside its intermediates, for the most demanding one: they run
/// one at a time. The specializations of bodies are there.
int64_t control_bytes(const Program& program, const Plan& plan, const Specialization& s);

}  // namespace tenon::runtime
