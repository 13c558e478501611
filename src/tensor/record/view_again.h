// Views that were recorded once, recorded again upon another tensor of the same shape.
#pragma once

#include <optional>
#include <vector>

#include "ir/intern_again.h"
#include "ir/kinds.h"
#include "tenon/tensor.h"

namespace tenon::tensors {

/// The way from a tensor to a view of it. It holds for every tensor of `shape`.
struct ViewSteps {
  Shape shape;
  std::vector<View> path;
  std::vector<NodePattern> made;  ///< what was recorded, first to last
};

/// The way from `base` to `view`; nothing where they do not share a cell, or `view` was not made from `base`.
std::optional<ViewSteps> view_steps(const Tensor& base, const Tensor& view);

/// The same view of another tensor, which has the shape of the steps.
Tensor view_again(const Tensor& base, const ViewSteps& steps);

}  // namespace tenon::tensors
