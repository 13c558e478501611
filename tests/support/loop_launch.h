// Runs one loop kernel at a binding, as the runtime would.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/abi.h"
#include "kernel/loop/loop.h"
#include "tenon/array.h"
#include "tenon/bindings.h"

namespace tenon {

/// One array for each buffer of the kernel (empty for scratch): inputs random, all others full of 0x5a bytes (bool:
/// true), so that what is not written shows.
std::vector<Array> make_buffers(const loops::Kernel& kernel, const Bindings& bindings, uint64_t seed);

/// All phases in order, `chunk` iterations of the grid a call (0: all in one). `buffers` are written.
KernelStatus launch(const loops::Kernel& kernel, const KernelEntry& entry, const Bindings& bindings,
                    std::vector<Array>& buffers, int64_t chunk = 0);

}  // namespace tenon
