// Computing what tensors have recorded.
#pragma once

#include <source_location>
#include <string_view>
#include <vector>

#include "tenon/graph.h"
#include "tenon/tensor.h"

namespace tenon::tensors {

/// The elements of each. What is not known yet is computed by one program, together with every pending write of a
/// living tensor that shares an operation with it; all of them then know their elements. Memory of a tensor that was
/// written in place is taken over by its new elements where nothing else can ask for the old ones.
///
/// After an Error while it runs (a position out of range): where what was asked for can be computed without the pending
/// writes that came along, it is, and they are left for whoever asks for them. Else these writes, and those to what was
/// asked for, are undone: the tensors have the elements that they had before, so that a training step that fails is a
/// step that was not made.
std::vector<Array> realize_tensors(const std::vector<Tensor>& tensors, std::string_view reason,
                                   const std::source_location& where);

/// What realize_tensors() would run, as a graph; nothing runs, and nothing changes.
Graph planned_graph(const std::vector<Tensor>& tensors);

}  // namespace tenon::tensors
