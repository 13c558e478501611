// Small programs that end in one integer or truth, computed without a compile.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tensor/realize/pending.h"

namespace tenon::tensors {

/// The roots, computed by the interpreter, where a compile would take a thousand times as long as it saves: the first
/// root is one element, no float is read or computed, elements are few, and the structure has come to this place less
/// than kMostInterpreted times. Integers are the same by whoever computes them. Nothing for other programs, and where
/// the interpreter refuses: the compiled program says why, in the user's words.
std::optional<std::vector<Array>> interpret_small(const Pending& pending, std::string_view place);

/// A loop that looks at one integer in each step is compiled at the next step.
constexpr int kMostInterpreted = 32;

/// As if nothing had come yet.
void forget_interpreted();

}  // namespace tenon::tensors
