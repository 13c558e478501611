// The names of sizes in a program: `batch` and `batch_2`, where the recording has `batch` and `batch~17`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensor/realize/pending.h"

namespace tenon::tensors {

/// The names of sizes in the order in which the entries need them.
std::vector<std::string> names_of(const Pending& pending);

/// What a program calls each name: its plain form, numbered where several sizes share it.
passes::Substitution plain_names(const std::vector<std::string>& names);

/// The sizes of symbols under their plain names.
std::map<std::string, int64_t, std::less<>> plain_sizes(const passes::Substitution& by);

/// The names that are symbols, as their sizes.
passes::Substitution known_sizes(const std::vector<std::string>& names);

/// The structure with names replaced, on inputs of its own or on the values that `leaf` makes. A leaf loses the labels
/// that mean something else in the program: those that are a plain name, and those that have two sizes.
///   before: x: f32[n=4], y: f32[n~57]; z: f32[batch=2], w: f32[batch=8]
///   after:  x: f32[4], y: f32[n]; z: f32[2], w: f32[8]
Pending with_names(const Pending& pending, const passes::Substitution& by);
Pending with_names(const Pending& pending, const passes::Substitution& by, const Pending::LeafMaker& leaf);

}  // namespace tenon::tensors
