// This process as a device: its memory, and a pool of its threads.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "devices/device.h"

namespace tenon::devices {

/// Kernels as functions of this process.
class HostCode : public LoadedCode {
 public:
  explicit HostCode(std::vector<KernelEntry> entries) : entries_(std::move(entries)) {}
  /// Machine code; `keep_alive` is what it needs to stay callable.
  HostCode(std::vector<KernelFunction> functions, std::shared_ptr<void> keep_alive)
      : keep_alive_(std::move(keep_alive)), functions_(std::move(functions)) {}

  size_t size() const override { return functions_.empty() ? entries_.size() : functions_.size(); }

  void call(size_t kernel, const KernelArgs* args, int64_t phase, int64_t begin, int64_t end, void* scratch) const {
    if (!functions_.empty()) {
      functions_[kernel](args, phase, begin, end, scratch);
    } else {
      entries_[kernel](args, phase, begin, end, scratch);
    }
  }

 private:
  std::shared_ptr<void> keep_alive_;  // first, so that it goes last
  std::vector<KernelFunction> functions_;
  std::vector<KernelEntry> entries_;  // where there are no functions
};

/// Makes functions of a module of kObjectCode. Error: code for another machine.
using ObjectLoader = std::function<std::shared_ptr<const HostCode>(const Module&)>;

/// Launches run on the thread that calls, which may be one of the pool's.
class CpuDevice : public Device {
 public:
  /// The pool must outlive it. Without `load_objects` it loads loops and images alone.
  explicit CpuDevice(Pool& pool, ObjectLoader load_objects = {})
      : pool_(pool), load_objects_(std::move(load_objects)) {}

  bool is_host() const override { return true; }
  Pool* workers() const override { return &pool_; }

  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* memory) noexcept override;
  void touch(std::byte* memory, int64_t bytes) override;
  void prepare_thread() override;

  void copy_in(std::byte* to, const void* from, int64_t bytes) override;
  void copy_out(void* to, const std::byte* from, int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;

  std::shared_ptr<const LoadedCode> load(const Module& module) override;
  KernelStatus launch(const KernelLaunch& launch) override;
  void run_routine(const RoutineCall& call) override;
  std::vector<LaunchFailure> wait() override { return {}; }

 private:
  Pool& pool_;
  ObjectLoader load_objects_;
};

/// On the pool of the process, for loops and images. It is never destroyed.
const std::shared_ptr<Device>& host_device();

/// The functions of a module of kLoopCode, interpreted. Error: bytes that are no kernel.
std::shared_ptr<const HostCode> interpreted_code(const Module& module);

}  // namespace tenon::devices
