// Concat and Gather.
#include <cstring>

#include "interp/evaluate.h"
#include "interp/gather_map.h"
#include "interp/view_map.h"

namespace tenon {

Arrays evaluate(const Concat& op, const Evaluation& e) {
  Array out = e.output();
  const auto axis = static_cast<size_t>(op.axis);
  const Index strides = strides_of(out.dims());
  const size_t width = byte_size(out.dtype());
  std::byte* to = out.mutable_data();
  int64_t begin = 0;
  for (const Array& in : e.inputs) {
    for_each_index(in.dims(), [&](const Index& index, int64_t i) {
      const int64_t target = dot(index, strides) + begin * strides[axis];
      std::memcpy(to + static_cast<size_t>(target) * width, in.data() + static_cast<size_t>(i) * width, width);
    });
    begin += in.dims()[axis];
  }
  return {out};
}

Arrays evaluate(const Gather& op, const Evaluation& e) {
  const Array& x = e.inputs[0];
  const Index dims = e.dims();
  const auto indices = std::span(e.inputs).subspan(1);
  return {gather_elements(x, gather_map(op, x.dims(), indices, dims, "gather"), dims, {})};
}

}  // namespace tenon
