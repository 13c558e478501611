// Which elements a kernel touches, found by going through its loops.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/loop/loop.h"
#include "tenon/bindings.h"

namespace tenon {

/// Elements of one buffer, by position: whether they are read, written.
struct TouchedElements {
  std::vector<bool> read;
  std::vector<bool> written;
};

/// By buffer of the kernel, of scratch none. Iterations [begin, end) of the phase's grid run. Positions that data
/// decides are left out, and so is what a product reads in panels.
std::vector<TouchedElements> touched_elements(const loops::Kernel& kernel, const loops::Phase& phase, int64_t begin,
                                              int64_t end, const Bindings& bindings);

/// The bindings, and what names of the kernel's own stand for.
Bindings bindings_of(const loops::Kernel& kernel, const Bindings& bindings);

}  // namespace tenon
