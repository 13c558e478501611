// What a kind of machine offers to those who compile for it: options for the schedule, code for kernels, and a device
// of this process that runs such code.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/pool.h"
#include "devices/device.h"
#include "devices/module.h"
#include "kernel/loop/loop.h"
#include "schedule/options/schedule_options.h"
#include "tenon/machine.h"

namespace tenon::backend {

struct CodeOptions {
  bool disk_cache = true;  // keep machine code under the user's cache directory
  /// Called, on any thread and one at a time, when so many pieces of code of so many are done. May throw, which ends
  /// the compile. Of compile_for_file() alone.
  std::function<void(size_t done, size_t of)> progress = {};
  /// Code for files brings along the kernels of products that it calls. Off: those that this build has linked in stay
  /// out of it, so that only this build can load it.
  bool own_products = true;
};

struct CompiledKernels {
  devices::Module module;
  std::vector<double> milliseconds;  // of one processor, that each kernel took
};

/// Stateless but for caches; safe to use from many threads.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// Fill in what the schedule is told of a machine.
  virtual void describe(const Machine& machine, schedule::ScheduleOptions& options) const = 0;

  /// The code of kernels that were scheduled for `machine`. Error: instructions that no device of this process has.
  virtual CompiledKernels compile(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                                  const CodeOptions& options) const = 0;

  /// The same as a module that any process can load, with no need of this back end: for files. It may be for a machine
  /// that no device of this process is.
  virtual CompiledKernels compile_for_file(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                                           const CodeOptions& options) const = 0;

  /// That runs its modules, on the threads of `pool`, which must outlive it. With `disk_cache`, what it makes of code
  /// is kept as CodeOptions::disk_cache says.
  virtual std::shared_ptr<devices::Device> device(Pool& pool, bool disk_cache) const = 0;
};

/// The back end for a machine: one that makes machine code or, where not `native` or in a build without LLVM, one whose
/// modules are loops for their interpreter. Error: `native` and a GPU, in such a build.
const Backend& backend_for(const Machine& machine, bool native);

/// Whether this build makes machine code.
bool has_native_code();

}  // namespace tenon::backend
