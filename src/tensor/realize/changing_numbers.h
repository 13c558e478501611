// Numbers that change from run to run are inputs of programs: learning rates, step counts, `x * i`.
#pragma once

#include <string_view>

#include "tensor/realize/pending.h"

namespace tenon::tensors {

/// Constants of one element that were others when the same structure, whatever its sizes, came from `place` before
/// become leaves. So the second number compiles a program that serves all later ones.
void open_changing_numbers(Pending& pending, std::string_view place);

/// Forget which have changed: for clear_programs().
void forget_changing_numbers();

}  // namespace tenon::tensors
