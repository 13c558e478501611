// Why a program that was met before does not serve again, in words.
#pragma once

#include <string>

#include "tensor/realize/pending.h"

namespace tenon::tensors {

/// The first thing in which `now` differs from `before`. What no program can leave open comes first: the structure
/// ("structure: operation 7 is mul, was add"), then a number ("number: slice has step=[2], was step=[1]"); then a size
/// ("size: an input is f32[5, 8], was f32[4, 8], read by add"), which is a symbol from the third one on. Places where
/// operations were recorded are named where they are known. Empty where both are the same.
std::string difference(const Pending& now, const Pending& before);

}  // namespace tenon::tensors
