// Which leaves of a program are weights: those that would make its products faster as constants.
#pragma once

#include <vector>

#include "tenon/graph.h"

namespace tenon::tensors {

/// Of the inputs of `graph` those to take as constants, by number. `still` says which have stayed the same; others, and
/// what has symbolic sizes or one element, are never taken. None where no product reads enough of them. An output that
/// is a product of nothing but such inputs keeps the one that it is computed from last (`x` of `relu(x w) v`): what
/// comes out of a program is computed in every run, not stored in it.
std::vector<size_t> choose_weights(const Graph& graph, const std::vector<bool>& still);

/// Whether choose_weights() could find some if no more than these stayed the same.
bool may_have_weights(const Graph& graph, const std::vector<bool>& may_be);

}  // namespace tenon::tensors
