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
/// An Error (a position out of range), or being cancelled, changes no tensor: each still stands for all that was
/// recorded of it, and a later look computes it. Where a write that came along is what fails, what was asked for is
/// computed without it; the write says so to whoever looks at it.
std::vector<Array> realize_tensors(const std::vector<Tensor>& tensors, std::string_view reason,
                                   const std::source_location& where);

/// The tensor's writes since its elements were last known are taken back. Error where they never were.
void discard_pending(const Tensor& tensor);

/// What realize_tensors() would run, as a graph; nothing runs, and nothing changes.
Graph planned_graph(const std::vector<Tensor>& tensors);

}  // namespace tenon::tensors
