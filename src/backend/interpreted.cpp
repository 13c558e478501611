#include "backend/interpreted.h"

#include "backend/describe_cpu.h"
#include "backend/describe_gpu.h"
#include "devices/cpu/cpu_device.h"
#include "kernel/loop/loop_bytes.h"

namespace tenon::backend {

/// Constants stay as they are: the loops of products read them so.
void Interpreted::describe(const Machine& machine, schedule::ScheduleOptions& options) const {
  machine.is_gpu() ? describe_gpu(machine, options) : describe_cpu(machine, options);
}

CompiledKernels Interpreted::compile(std::span<const loops::Kernel* const> kernels, const Machine& /*machine*/,
                                     const CodeOptions& /*options*/) const {
  CompiledKernels result;
  result.module.format = devices::kLoopCode;
  result.module.description = "loop interpreter";
  result.milliseconds.resize(kernels.size());
  for (const loops::Kernel* kernel : kernels) {
    const std::vector<std::byte> bytes = loops::to_bytes(*kernel);
    const auto* const first = reinterpret_cast<const char*>(bytes.data());
    result.module.object_of.push_back(static_cast<int>(result.module.objects.size()));
    result.module.objects.push_back(
        {.symbol = kernel->name, .bytes = std::make_shared<const std::vector<char>>(first, first + bytes.size())});
  }
  return result;
}

std::shared_ptr<devices::Device> Interpreted::device(Pool& pool, bool /*disk_cache*/) const {
  return std::make_shared<devices::CpuDevice>(pool);
}

}  // namespace tenon::backend
