#include "schedule/fuse/row_time.h"

#include <algorithm>
#include <set>

#include "kernel/loop/loop_walk.h"
#include "kernel/scalar/prim_cost.h"
#include "schedule/options/core_rates.h"

namespace tenon::schedule {
namespace {

int64_t bytes_of(Dtype dtype) { return static_cast<int64_t>(byte_size(dtype)); }

/// Loops that read what they have in common just once.
struct Pass {
  double vector_bytes = 0;  // of operands of instructions
  double bytes = 0;         // of memory
  std::set<int> loaded;     // values

  double time(int64_t in_vector) const {
    return std::max(vector_bytes / static_cast<double>(in_vector) / kVectorsPerCycle, bytes / kBytesPerCycle);
  }
};

bool runs_along(const loops::Affine& at, int axis) {
  return std::ranges::find(at.terms, axis, &loops::Term::axis) != at.terms.end();
}

void add_define(const loops::Kernel& kernel, const loops::Loop& loop, int index, Pass& pass) {
  const loops::Value& value = kernel.values[static_cast<size_t>(index)];
  if (const auto* load = std::get_if<loops::Load>(&value.what)) {
    const Dtype dtype = kernel.buffers[static_cast<size_t>(load->buffer)].dtype;
    if (!runs_along(load->at, loop.axis) || !pass.loaded.insert(index).second) return;
    pass.vector_bytes += static_cast<double>(bytes_of(value.dtype));
    pass.bytes += static_cast<double>(bytes_of(dtype));
  } else if (const auto* compute = std::get_if<loops::Compute>(&value.what)) {
    const int64_t widest = std::max(bytes_of(value.dtype), bytes_of(compute->operand_dtype));
    pass.vector_bytes += static_cast<double>(cost(compute->prim, compute->operand_dtype) * widest);
  }
}

void add_loop(const loops::Kernel& kernel, const loops::Loop& loop, Pass& pass) {
  loops::for_each_statement(loop.body, [&](const loops::Statement& statement) {
    if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
      add_define(kernel, loop, define->value, pass);
    } else if (const auto* store = std::get_if<loops::Store>(&statement.what)) {
      const auto bytes = static_cast<double>(bytes_of(kernel.buffers[static_cast<size_t>(store->buffer)].dtype));
      pass.vector_bytes += bytes;
      if (runs_along(store->at, loop.axis)) pass.bytes += bytes;
    } else if (const auto* accumulate = std::get_if<loops::Accumulate>(&statement.what)) {
      const auto& accumulator = kernel.accumulators[static_cast<size_t>(accumulate->accumulator)];
      pass.vector_bytes += static_cast<double>(bytes_of(accumulator.dtype));
    }
  });
}

}  // namespace

double row_time(const loops::Kernel& kernel, int64_t vector_bytes) {
  double time = 0;
  for (const loops::Phase& phase : kernel.phases) {
    Pass tiles;
    loops::for_each_statement(phase.body, [&](const loops::Statement& statement) {
      const auto* loop = std::get_if<loops::Loop>(&statement.what);
      if (loop == nullptr) return;
      const loops::Axis& axis = kernel.axes[static_cast<size_t>(loop->axis)];
      if (axis.binding != loops::Binding::lanes) return;
      if (axis.tile_of >= 0) {
        add_loop(kernel, *loop, tiles);
      } else {
        Pass alone;
        add_loop(kernel, *loop, alone);
        time += alone.time(vector_bytes);
      }
    });
    time += tiles.time(vector_bytes);
  }
  return time;
}

}  // namespace tenon::schedule
