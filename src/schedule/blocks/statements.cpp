#include "schedule/blocks/statements.h"

#include <utility>

#include "schedule/blocks/phase_edit.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {

loops::Statement loop_around(int axis, loops::Block body) {
  return {loops::Loop{.axis = axis, .begins = {}, .body = std::move(body), .unless = -1}};
}

int define(loops::Block& block, int value) {
  block.emplace_back(loops::Define{value});
  return value;
}

int load_as(loops::Kernel& kernel, loops::Block& block, Dtype dtype, int buffer, loops::Affine at,
            std::vector<loops::Bound> inside) {
  const Dtype held = compute_dtype(kernel.buffers[static_cast<size_t>(buffer)].dtype);
  const loops::Load what{.buffer = buffer, .at = std::move(at), .inside = std::move(inside), .lookups = {}};
  const int loaded = define(block, add_value(kernel, {.what = what, .dtype = held}));
  return held == dtype ? loaded : define(block, add_compute(kernel, Prim::cast, dtype, held, {loaded}));
}

void write(loops::Block& block, int buffer, loops::Affine at, int value, std::vector<loops::Bound> inside) {
  block.emplace_back(loops::Store{.buffer = buffer, .at = std::move(at), .inside = std::move(inside), .value = value});
}

int zero_outside(loops::Kernel& kernel, loops::Block& block, int value, Dtype dtype, const loops::Bound& bound) {
  const auto position = [&](const loops::Affine& at) {
    return define(block, add_value(kernel, {.what = loops::Position{at}, .dtype = Dtype::i64}));
  };
  const int at = position(bound.index);
  const int end = position(affine_constant(bound.size));
  const int exists = define(block, add_compute(kernel, Prim::lt, Dtype::boolean, Dtype::i64, {at, end}));
  const int none = define(block, add_constant(kernel, dtype, 0));
  return define(block, add_compute(kernel, Prim::select, dtype, dtype, {exists, value, none}));
}

}  // namespace tenon::schedule
