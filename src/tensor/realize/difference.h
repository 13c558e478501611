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

/// Where `now` recorded what its program knows by `place`: the line that was recorded when the program was compiled.
/// Entries of both are the same one by one. Several lines where that line had several such operations.
std::string recorded_at(const Pending& now, const Pending& plain, const std::string& place);

}  // namespace tenon::tensors
