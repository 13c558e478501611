// How compiled kernels are called. Shared by codegen/, which makes them, and runtime/, which calls them.
#pragma once

#include <cstdint>
#include <functional>

namespace tenon {

/// Where a kernel says that a position of data was out of range. Any failing element may win.
struct KernelStatus {
  int64_t failed = 0;  // 0, or 1 + the site
  int64_t position = 0;
  int64_t size = 0;
};

/// Memory that a call writes overlaps no other of its buffers, with two exceptions: outputs may overlap outputs, and an
/// output may be the input that loops::Kernel::may_share pairs it with, from the same address on.
struct KernelArgs {
  void* const* buffers = nullptr;  // in the order of loops::Kernel::buffers; scratch buffers are null here
  const int64_t* sizes = nullptr;  // loops::runtime_sizes
  KernelStatus* status = nullptr;
};

/// Runs iterations [begin, end) of the grid of a phase. `scratch` is 64-byte aligned and private to the caller.
using KernelFunction = void (*)(const KernelArgs* args, int64_t phase, int64_t begin, int64_t end, void* scratch);

/// What the runtime calls: a KernelFunction, or the loop IR's interpreter bound to a kernel.
using KernelEntry =
    std::function<void(const KernelArgs* args, int64_t phase, int64_t begin, int64_t end, void* scratch)>;

}  // namespace tenon
