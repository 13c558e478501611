// The six views, and Update, which writes through them.
#include <cstring>
#include <numeric>

#include "interp/evaluate.h"
#include "interp/view_map.h"
#include "ops/infer.h"

namespace tenon {
namespace {

Arrays evaluate_view(const View& view, const Evaluation& e) {
  const Array& x = e.inputs[0];
  const Index dims = e.dims();
  const auto* pad = std::get_if<Pad>(&view);
  const Array fill = pad != nullptr ? pad->fill.cast(x.dtype()) : Array();
  return {gather_elements(x, view_map(view, x.dims(), dims, e.bindings), dims, fill)};
}

}  // namespace

Arrays evaluate(const Reshape& op, const Evaluation& e) { return evaluate_view(op, e); }
Arrays evaluate(const Transpose& op, const Evaluation& e) { return evaluate_view(op, e); }
Arrays evaluate(const Broadcast& op, const Evaluation& e) { return evaluate_view(op, e); }
Arrays evaluate(const Slice& op, const Evaluation& e) { return evaluate_view(op, e); }
Arrays evaluate(const Pad& op, const Evaluation& e) { return evaluate_view(op, e); }
Arrays evaluate(const Flip& op, const Evaluation& e) { return evaluate_view(op, e); }

Arrays evaluate(const Update& op, const Evaluation& e) {
  Array out = e.inputs[0];
  const Array& value = e.inputs[1];
  Shape seen = e.node.inputs[0].shape();
  std::vector<int64_t> map(static_cast<size_t>(out.size()));
  std::iota(map.begin(), map.end(), 0);
  for (const View& view : op.path) {
    const Index from = resolve(seen, e.bindings).dims();
    seen = infer_view(view, seen).shapes[0];
    std::vector<int64_t> next = view_map(view, from, resolve(seen, e.bindings).dims(), e.bindings);
    for (int64_t& position : next) {
      position = map[static_cast<size_t>(position)];
    }
    map = std::move(next);
  }
  const size_t width = byte_size(out.dtype());
  std::byte* base = out.mutable_data();
  for (size_t i = 0; i < map.size(); ++i) {
    std::memcpy(base + static_cast<size_t>(map[i]) * width, value.data() + i * width, width);
  }
  return {out};
}

}  // namespace tenon
