#ifdef TENON_WITH_LLVM
#include "backend/gpu.h"

#include <chrono>
#include <map>
#include <string>

#include "backend/describe_gpu.h"
#include "devices/gpu/gpu_device.h"
#include "native/code_generator.h"

namespace tenon::backend {

void Gpu::describe(const Machine& machine, schedule::ScheduleOptions& options) const { describe_gpu(machine, options); }

CompiledKernels Gpu::compile(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                             const CodeOptions& options) const {
  using Clock = std::chrono::steady_clock;
  CompiledKernels result;
  devices::Module& module = result.module;
  module.format = devices::kPtxCode;
  module.target = machine.gpu().architecture;
  module.description = machine.gpu().architecture + ", PTX";
  result.milliseconds.resize(kernels.size());
  std::vector<size_t> firsts;  // of those of equal code
  std::map<std::string, int> object_of_text;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto [entry, is_new] =
        object_of_text.try_emplace(loops::to_string(*kernels[i], true), static_cast<int>(firsts.size()));
    if (is_new) firsts.push_back(i);
    module.object_of.push_back(entry->second);
  }
  const size_t count = firsts.size();
  std::vector<double> took(2 * count);
  module.objects.resize(2 * count);  // those with scratch in the device's memory behind the others
  Pool::shared().parallel_for(static_cast<int64_t>(2 * count), 1, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const auto start = Clock::now();
      const std::string text =
          codegen::code_generator().ptx(*kernels[firsts[i % count]], machine, i >= count, options.disk_cache);
      module.objects[i] = {.symbol = i < count ? "phase" : "phase_in_device_memory",
                           .bytes = std::make_shared<const std::vector<char>>(text.begin(), text.end())};
      took[i] = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
  });
  for (size_t i = 0; i < count; ++i)
    result.milliseconds[firsts[i]] = took[i] + took[count + i];
  return result;
}

std::shared_ptr<devices::Device> Gpu::device(Pool& pool, bool disk_cache) const {
  return std::make_shared<devices::GpuDevice>(pool, disk_cache);
}

}  // namespace tenon::backend
#endif
