// Window: combining the elements under a sliding window. The pools made from it are in pool.cpp.
#include "base/refused.h"
#include "ops/sliding.h"

namespace tenon {

Inferred infer(const Window& op, Operands in) {
  const Value& x = in[0];
  const auto rank = static_cast<size_t>(x.rank());
  if (op.op != ReduceOp::sum && op.op != ReduceOp::product && op.op != ReduceOp::max && op.op != ReduceOp::min) {
    refuse("combines by sum, product, max or min, not by {}", spellings(op.op)[static_cast<size_t>(op.op)]);
  }
  if (x.dtype() == Dtype::boolean) {
    refuse("is for numbers, not bool");
  }
  require_steps(op.size, rank, "size");
  require_steps(op.stride, rank, "stride");
  require_steps(op.dilation, rank, "dilation");
  require_padding(op.low, rank, "low padding");
  require_padding(op.high, rank, "high padding");
  Inferred result;
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; ++i) {
    axes.push_back(slide(
        x, static_cast<int>(i),
        {.span = dilated(op.size[i], op.dilation[i]), .stride = op.stride[i], .low = op.low[i], .high = op.high[i]},
        result.constraints));
  }
  result.shapes = {x.shape().with_axes(std::move(axes))};
  return result;
}

}  // namespace tenon
