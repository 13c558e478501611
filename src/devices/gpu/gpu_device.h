// A GPU of this machine as a device, through NVIDIA's driver.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "devices/device.h"
#include "devices/gpu/cuda_driver.h"
#include "devices/gpu/gpu_linker.h"
#include "devices/gpu/gpu_scan.h"
#include "tenon/machine.h"

namespace tenon::devices {

/// The first GPU. Each thread that asks for work has a stream of its own. Scratch that fits is in the memory that a
/// block shares, other in memory of the device. Memory that goes back waits in the driver's pool for
/// the next that asks, up to a quarter of all.
class GpuDevice : public Device {
 public:
  /// Routines run on the host but for most scans, on the threads of `pool`, which must outlive it. With `keeps_code`,
  /// what the driver makes of kernels is kept on disk. Error: there is no GPU.
  GpuDevice(Pool& pool, bool keeps_code);
  ~GpuDevice() override;

  bool is_host() const override { return false; }
  MemoryPlace place() const override { return {.kind = DeviceKind::gpu, .index = device_}; }
  Pool* workers() const override { return nullptr; }

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
  std::vector<LaunchFailure> wait() override;

 private:
  struct Asked {
    const loops::KernelFacts* facts = nullptr;
    int64_t order = 0;
  };
  /// What one thread has under way.
  struct Thread {
    CudaDriver::Address statuses = 0;  // a KernelStatus for each of those that were asked for
    std::vector<Asked> asked;
    std::vector<LaunchFailure> failures;  // that were found and not told
    CudaDriver::Address scratch = 0;
    int64_t scratch_bytes = 0;
  };

  Thread& mine();
  CudaDriver::Address next_status(Thread& thread, const KernelLaunch& launch);
  void read_statuses(Thread& thread);
  CudaDriver::Address scratch(Thread& thread, int64_t bytes);

  const CudaDriver& driver_;
  Pool& pool_;
  int device_ = 0;
  CudaDriver::Handle context_ = nullptr;
  bool has_pool_ = false;  // of the driver: memory is given and taken in the order of a stream's work
  int64_t multiprocessors_ = 1;
  int64_t shared_bytes_ = 0;  // that a block can have
  std::unique_ptr<GpuLinker> linker_;
  std::unique_ptr<GpuScans> scans_;
  std::mutex mutex_;
  std::map<std::thread::id, std::unique_ptr<Thread>> threads_;
};

/// The facts of the first GPU. Error: there is none.
Machine host_gpu_facts();

}  // namespace tenon::devices
