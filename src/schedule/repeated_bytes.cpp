#include "schedule/repeated_bytes.h"

#include <algorithm>
#include <map>

#include "kernel/loop_walk.h"

namespace tenon {

Extent repeated_bytes(const loops::Kernel& kernel) {
  Extent most = 0;
  for (const loops::Phase& phase : kernel.phases) {
    std::map<int, int> defined;  // how often each load is
    loops::for_each_statement(phase.body, [&](const loops::Statement& statement) {
      const auto* define = std::get_if<loops::Define>(&statement.what);
      if (define && std::holds_alternative<loops::Load>(kernel.values[static_cast<size_t>(define->value)].what)) {
        ++defined[define->value];
      }
    });
    Extent bytes = 0;
    for (const auto& [value, times] : defined) {
      const auto& load = std::get<loops::Load>(kernel.values[static_cast<size_t>(value)].what);
      const loops::Buffer& buffer = kernel.buffers[static_cast<size_t>(load.buffer)];
      if (times == 1 || buffer.role != loops::Role::input) {
        continue;
      }
      Extent elements = 1;
      for (const loops::Term& term : load.at.terms) {
        if (std::ranges::find(phase.grid, term.axis) == phase.grid.end()) {
          elements *= kernel.axes[static_cast<size_t>(term.axis)].extent;
        }
      }
      bytes += elements * static_cast<int64_t>(byte_size(buffer.dtype));
    }
    most = max(most, bytes);
  }
  return (most + loops::scratch_bytes(kernel)).substitute(kernel.arguments);
}

bool reads_once(const loops::Kernel& kernel) {
  int phases = 0;
  for (const loops::Phase& phase : kernel.phases) {
    bool reads = false;
    loops::for_each_statement(phase.body, [&](const loops::Statement& statement) {
      const auto* loop = std::get_if<loops::Loop>(&statement.what);
      if (!loop || !kernel.axes[static_cast<size_t>(loop->axis)].vectorized) {
        return;
      }
      for (const loops::Statement& inside : loop->body) {
        const auto* define = std::get_if<loops::Define>(&inside.what);
        const auto* load =
            define ? std::get_if<loops::Load>(&kernel.values[static_cast<size_t>(define->value)].what) : nullptr;
        reads = reads || (load && kernel.buffers[static_cast<size_t>(load->buffer)].role == loops::Role::input);
      }
    });
    phases += reads ? 1 : 0;
  }
  return phases <= 1;
}

}  // namespace tenon
