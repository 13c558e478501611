#include "devices/cpu/cpu_device.h"

#include <cstring>

#include "base/aligned.h"
#include "base/fail.h"
#include "devices/cpu/image_code.h"
#include "devices/cpu/thread_scratch.h"

namespace tenon::devices {
namespace {

constexpr int64_t kPage = 4096;

void move_bytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) {
    std::memmove(to, from, static_cast<size_t>(bytes));
  }
}

}  // namespace

std::byte* CpuDevice::allocate(int64_t bytes) { return allocate_aligned(static_cast<size_t>(bytes)); }

void CpuDevice::release(std::byte* memory) noexcept { free_aligned(memory); }

void CpuDevice::touch(std::byte* memory, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += kPage) {
    memory[at] = std::byte{0};  // the first write is what takes time
  }
}

void CpuDevice::prepare_thread() { thread_scratch(1); }

void CpuDevice::copy_in(std::byte* to, const void* from, int64_t bytes) { move_bytes(to, from, bytes); }

void CpuDevice::copy_out(void* to, const std::byte* from, int64_t bytes) { move_bytes(to, from, bytes); }

void CpuDevice::copy(std::byte* to, const std::byte* from, int64_t bytes) { move_bytes(to, from, bytes); }

std::shared_ptr<const LoadedCode> CpuDevice::load(const Module& module) {
  if (module.format == kLoopCode) {
    return interpreted_code(module);
  }
  if (module.format == kImageCode) {
    return image_code(module);
  }
  if (module.format != kObjectCode || !load_objects_) {
    fail("code of the form `{}` does not run on this device", module.format);
  }
  return load_objects_(module);
}

KernelStatus CpuDevice::launch(const KernelLaunch& launch) {
  KernelStatus status;
  const KernelArgs args{.buffers = launch.arguments.data(), .sizes = launch.sizes, .status = &status};
  void* const scratch = launch.scratch_bytes == 0 ? nullptr : thread_scratch(launch.scratch_bytes);
  static_cast<const HostCode&>(launch.code).call(launch.kernel, &args, launch.phase, launch.begin, launch.end, scratch);
  return status;
}

void CpuDevice::run_routine(const RoutineCall& call) {
  library::run(call.routine, call.reads, call.writes,
               {.pool = pool_, .threads = call.threads, .before_chunk = call.before_chunk});
}

const std::shared_ptr<Device>& host_device() {
  static const auto& device = *new std::shared_ptr<Device>(std::make_shared<CpuDevice>(Pool::shared()));
  return device;
}

}  // namespace tenon::devices
