// What the functions of the driver have in common.
#pragma once

#include <exception>
#include <mutex>
#include <string>

#include "gpu.h"

namespace tenon::emulated_gpu {

using Address = unsigned long long;  // NOLINT(google-runtime-int): as the driver's interface has it

/// The context of the thread that calls.
void* current_context();

/// `work`, under the lock, with faults as numbers. A fault of earlier work is told by whatever is called next.
template <class F>
int call(const F& work, bool needs_context = true) {
  Gpu& gpu = Gpu::instance();
  const std::lock_guard lock(gpu.mutex);
  try {
    if (needs_context && current_context() == nullptr) {
      throw Fault(kInvalidContext, "no context is current in this thread");
    }
    if (needs_context && gpu.fault() != 0) return gpu.fault();
    work(gpu);
    return needs_context ? gpu.fault() : static_cast<int>(kSuccess);
  } catch (const Fault& fault) {
    return gpu.fail(fault.result, fault.what());
  } catch (const std::exception& error) {
    return gpu.fail(kLaunchFailed, error.what());
  }
}

/// Checked as the driver checks it. Throws Fault.
Launch launch_of(Gpu& gpu, void* function, Shape grid, Shape block, unsigned shared_bytes, void** arguments,
                 void** extra);

}  // namespace tenon::emulated_gpu
