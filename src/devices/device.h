// What a place to run offers to the runtime: memory, launches of kernels, and a way to wait for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/pool.h"
#include "devices/module.h"
#include "kernel/abi.h"
#include "kernel/facts/kernel_facts.h"
#include "kernel/program/library_routine.h"
#include "library/library.h"
#include "tenon/storage.h"

namespace tenon::devices {

/// A module that a device has made ready to launch. Only the device that loaded it knows what is in it; it lives as
/// long as somebody may launch one of its kernels.
class LoadedCode {
 public:
  LoadedCode() = default;
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;
  virtual ~LoadedCode() = default;

  /// How many kernels it has.
  virtual size_t size() const = 0;
};

/// Iterations [begin, end) of the grid of one phase of a kernel.
struct KernelLaunch {
  const LoadedCode& code;
  const loops::KernelFacts& facts;  ///< of the kernel
  size_t kernel = 0;                ///< of the module
  int64_t phase = 0;
  int64_t begin = 0;
  int64_t end = 0;
  /// Addresses in the device's memory, in the order of KernelFacts::arguments; null for scratch.
  std::span<void* const> arguments;
  const int64_t* sizes = nullptr;  ///< KernelFacts::sizes at these bindings
  int64_t scratch_bytes = 0;       ///< that the call needs
  int64_t order = 0;               ///< of several failures, the one of the lowest order is reported
};

/// A launch that found a position out of range.
struct LaunchFailure {
  const loops::KernelFacts* facts = nullptr;
  int64_t order = 0;
  KernelStatus status;
};

/// How a routine of library/ runs.
struct RoutineCall {
  const LibraryRoutine& routine;
  std::span<const library::Memory> reads;  ///< addresses in the device's memory
  std::span<const library::Memory> writes;
  int threads = 0;                          ///< of the host: at most so many; 0: all
  std::function<void()> before_chunk = {};  ///< on any thread; may throw, which ends the routine
};

/// Elements of a view of a device's memory, to be laid in rows.
struct ViewCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;  ///< the view's first element
  int64_t element_bytes = 0;
  std::span<const int64_t> dims;
  std::span<const int64_t> strides;  ///< in elements
};

/// A place to run. Addresses are in the device's own memory: arithmetic on them is allowed, nobody but the device reads
/// or writes there, unless is_host(). Work is done in the order in which one thread asks for it, and may go on when a
/// call has returned; what copies to the host waits for what it copies. Safe to use from many threads, which do not
/// wait for each other's work.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// Whether its memory is this process's own: addresses may be read and written, and all work is done when a call
  /// returns.
  virtual bool is_host() const = 0;
  /// What arrays in its memory say of where they are: another place than the CPU unless is_host().
  virtual MemoryPlace place() const { return {}; }
  /// Threads of the host that may launch ranges of one grid side by side; null where a launch uses all of the device.
  virtual Pool* workers() const = 0;

  // Memory.

  /// At a multiple of 64; never null. Throws std::bad_alloc where there is none.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  /// Have the system provide what it promised, so that the first write takes no longer than others.
  virtual void touch(std::byte* memory, int64_t bytes) = 0;
  /// Have ready what launches on this thread need for a start.
  virtual void prepare_thread() = 0;

  virtual void copy_in(std::byte* to, const void* from, int64_t bytes) = 0;
  virtual void copy_out(void* to, const std::byte* from, int64_t bytes) = 0;
  /// From one place of its memory to another. They may overlap.
  virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) = 0;
  /// Within its memory, where the two do not overlap. False where it has no way: the elements then go by the host.
  virtual bool copy_view(const ViewCopy& /*copy*/) { return false; }

  // Work.

  /// Error: code of a format, or for a machine, that this device does not run.
  virtual std::shared_ptr<const LoadedCode> load(const Module& module) = 0;
  /// The status of the range, where it is known when this returns; else wait() tells of failures.
  virtual KernelStatus launch(const KernelLaunch& launch) = 0;
  /// Errors: those of library::run().
  virtual void run_routine(const RoutineCall& call) = 0;
  /// Until all that this thread asked for is done. What failed of it and was not told before.
  virtual std::vector<LaunchFailure> wait() = 0;
};

/// A routine on the host for a device that has none of its own: operands are copied out and results back in.
void run_routine_on_host(Device& device, const RoutineCall& call, Pool& pool);

}  // namespace tenon::devices
