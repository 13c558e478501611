// Running sums and the like on a GPU: one thread for each line.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "devices/device.h"
#include "devices/gpu/cuda_driver.h"
#include "devices/gpu/gpu_linker.h"

namespace tenon::devices {

/// Safe to use from many threads, which must have set a context. The bits are those of library::run(), which goes along
/// lines in the same order.
class GpuScans {
 public:
  GpuScans(const CudaDriver& driver, GpuLinker& linker) : driver_(driver), linker_(linker) {}
  ~GpuScans();
  GpuScans(const GpuScans&) = delete;
  GpuScans& operator=(const GpuScans&) = delete;

  /// Work of `stream`. False where the host is to do it: of other types, or for few lines that are long, which threads
  /// would go along one element after the other.
  bool run(const ScanRoutine& step, const RoutineCall& call, CudaDriver::Handle stream);

 private:
  struct Loaded {
    CudaDriver::Handle module = nullptr;
    CudaDriver::Handle function = nullptr;
  };
  CudaDriver::Handle function_of(const std::string& text);

  const CudaDriver& driver_;
  GpuLinker& linker_;
  std::mutex mutex_;
  std::map<std::string, Loaded> by_text_;
};

/// PTX of a scan: `scan(x, y, lines, inner, count)`. Empty: there is none for the type.
std::string scan_ptx(const ScanRoutine& step, Dtype dtype);

}  // namespace tenon::devices
