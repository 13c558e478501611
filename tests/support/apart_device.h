// A device whose memory is not the host's, and whose work goes on when a call has returned: what finds a runtime that
// touches memory which is not its own, or counts on work that is not done.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "devices/cpu/cpu_device.h"
#include "devices/device.h"

namespace tenon {

/// Its addresses are those of a range that nobody may read or write; the bytes themselves lie elsewhere in the process.
/// Launches and copies within the device are done when somebody waits for them or copies out. Its kernels are
/// functions of this process: it loads what `inner` does.
class ApartDevice : public devices::Device {
 public:
  explicit ApartDevice(std::shared_ptr<devices::Device> inner);
  ~ApartDevice() override;

  bool is_host() const override { return false; }
  MemoryPlace place() const override { return {.kind = DeviceKind::gpu, .index = 7}; }
  Pool* workers() const override { return nullptr; }

  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* memory) noexcept override;
  void touch(std::byte* /*memory*/, int64_t /*bytes*/) override {}
  void prepare_thread() override {}

  void copy_in(std::byte* to, const void* from, int64_t bytes) override;
  void copy_out(void* to, const std::byte* from, int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  bool copy_view(const devices::ViewCopy& copy) override;

  std::shared_ptr<const devices::LoadedCode> load(const devices::Module& module) override;
  KernelStatus launch(const devices::KernelLaunch& launch) override;
  void run_routine(const devices::RoutineCall& call) override;
  std::vector<devices::LaunchFailure> wait() override;

  struct Counters {
    std::atomic<int64_t> bytes_in = 0, bytes_out = 0, launches = 0, in_use = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Queue {
    std::vector<std::function<void()>> work;
    std::vector<devices::LaunchFailure> failures;
  };

  /// Where bytes of an address of the device really are.
  std::byte* real(const void* address) const;
  Queue& queue();
  void finish();

  std::shared_ptr<devices::Device> inner_;
  std::byte* shown_ = nullptr;          // the range that is given out
  std::byte* hidden_ = nullptr;         // as large: its bytes
  int64_t offset_ = 0;                  // from the one to the other
  std::mutex mutex_;                    // over what follows
  std::map<std::byte*, int64_t> free_;  // ranges, by where they begin
  std::map<std::byte*, int64_t> taken_;
  std::map<std::thread::id, std::unique_ptr<Queue>> queues_;
  Counters counters_;
};

}  // namespace tenon
