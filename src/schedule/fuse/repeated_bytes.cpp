#include "schedule/fuse/repeated_bytes.h"

#include <algorithm>
#include <map>

#include "kernel/loop/loop_walk.h"

namespace tenon::schedule {

namespace {

/// A load of an input, and the loops around all of its places.
struct Places {
  int count = 0;
  std::vector<const loops::Loop*> around;
};

/// By the loaded value.
using Loaded = std::map<int, Places>;

void find_loads(const loops::Kernel& kernel, const loops::Block& block, std::vector<const loops::Loop*>& around,
                Loaded& found) {
  for (const loops::Statement& statement : block) {
    if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
      around.push_back(loop);
      find_loads(kernel, loop->body, around, found);
      around.pop_back();
    } else if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
      const auto* load = std::get_if<loops::Load>(&kernel.values[static_cast<size_t>(define->value)].what);
      if (!load || kernel.buffers[static_cast<size_t>(load->buffer)].role != loops::Role::input) continue;
      Places& places = found[define->value];
      if (places.count++ == 0) {
        places.around = around;
      } else {
        const auto apart = std::ranges::mismatch(places.around, around).in1;
        places.around.erase(apart, places.around.end());
      }
    }
  }
}

/// Elements that are loaded between a place and the next: what the loops around all places run over is new each time.
Extent elements_between(const loops::Kernel& kernel, const loops::Phase& phase, const loops::Load& load,
                        const Places& places) {
  Extent elements = 1;
  for (const loops::Term& term : load.at.terms) {
    const bool shared = std::ranges::find(phase.grid, term.axis) != phase.grid.end() ||
                        std::ranges::find(places.around, term.axis, &loops::Loop::axis) != places.around.end();
    if (!shared) elements *= kernel.axes[static_cast<size_t>(term.axis)].extent;
  }
  return elements;
}

}  // namespace

Extent repeated_bytes(const loops::Kernel& kernel) {
  Extent most = 0;
  for (const loops::Phase& phase : kernel.phases) {
    Loaded loaded;
    std::vector<const loops::Loop*> around;
    find_loads(kernel, phase.body, around, loaded);
    Extent bytes = 0;
    for (const auto& [value, places] : loaded) {
      if (places.count == 1) continue;
      const auto& load = std::get<loops::Load>(kernel.values[static_cast<size_t>(value)].what);
      const Dtype dtype = kernel.buffers[static_cast<size_t>(load.buffer)].dtype;
      bytes += elements_between(kernel, phase, load, places) * static_cast<int64_t>(byte_size(dtype));
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
      if (!loop || kernel.axes[static_cast<size_t>(loop->axis)].binding != loops::Binding::lanes) {
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

}  // namespace tenon::schedule
