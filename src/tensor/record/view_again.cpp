#include "tensor/record/view_again.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tensor/record/cell.h"
#include "tensor/record/user_lines.h"

namespace tenon::tensors {

std::optional<ViewSteps> view_steps(const Tensor& base, const Tensor& view) {
  Handle& from = Access::handle(base);
  Handle& to = Access::handle(view);
  if (from.cell != to.cell || from.detached != to.detached) {
    return {};
  }
  const Value start = from.value();
  ViewSteps steps{.shape = start.shape(), .path = {}, .made = {}};
  for (Value at = to.value(); !(at == start); at = at.node().inputs[0]) {
    std::optional<View> step = as_view(at.node().op);
    if (!step || std::holds_alternative<Pad>(*step)) {
      return {};
    }
    steps.path.push_back(std::move(*step));
    steps.made.emplace_back(at.node());
  }
  std::ranges::reverse(steps.path);
  std::ranges::reverse(steps.made);
  return steps;
}

Tensor view_again(const Tensor& base, const ViewSteps& steps) {
  Handle& of = Access::handle(base);
  Value value = of.value();
  const RecordingLine line;
  for (const NodePattern& made : steps.made) {
    value = made.intern({value});
  }
  auto handle = std::make_shared<Handle>();
  handle->cell = of.cell;
  handle->path.reserve(of.path.size() + steps.path.size());
  handle->path.insert(handle->path.end(), of.path.begin(), of.path.end());
  handle->path.insert(handle->path.end(), steps.path.begin(), steps.path.end());
  handle->detached = of.detached;
  Access::set_seen(*handle, value);
  return Tensor(std::move(handle));
}

}  // namespace tenon::tensors
