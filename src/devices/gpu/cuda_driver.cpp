#include "devices/gpu/cuda_driver.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>

#include "base/fail.h"

namespace tenon::devices {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kOldestDriver = 12000;  // which takes PTX 8.0

template <class F>
void find(void* library, const char* name, F& function) {
  void* const found = dlsym(library, name);
  if (found == nullptr) fail("the GPU's driver is too old: {} has no {}", kLibrary, name);
  function = reinterpret_cast<F>(found);
}

std::string text_of(const CudaDriver& driver, CudaDriver::Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver.error_name(result, &name);
  driver.error_text(result, &text);
  return fmt::format("{} ({})", text == nullptr ? "an unknown error" : text, name == nullptr ? "?" : name);
}

CudaDriver find_functions(void* library) {
  CudaDriver driver{};
  find(library, "cuInit", driver.init);
  find(library, "cuDriverGetVersion", driver.driver_version);
  find(library, "cuDeviceGetCount", driver.device_count);
  find(library, "cuDeviceGet", driver.device);
  find(library, "cuDeviceGetName", driver.device_name);
  find(library, "cuDeviceGetAttribute", driver.attribute);
  find(library, "cuDeviceTotalMem_v2", driver.total_memory);
  find(library, "cuDevicePrimaryCtxRetain", driver.retain_context);
  find(library, "cuCtxSetCurrent", driver.set_context);
  find(library, "cuMemAlloc_v2", driver.allocate);
  find(library, "cuMemFree_v2", driver.release);
  find(library, "cuDeviceGetDefaultMemPool", driver.default_pool);
  find(library, "cuMemPoolSetAttribute", driver.set_pool_attribute);
  find(library, "cuMemAllocAsync", driver.allocate_in_order);
  find(library, "cuMemFreeAsync", driver.release_in_order);
  find(library, "cuMemcpyHtoDAsync_v2", driver.copy_in);
  find(library, "cuMemcpyDtoHAsync_v2", driver.copy_out);
  find(library, "cuMemcpyDtoDAsync_v2", driver.copy);
  find(library, "cuMemsetD8Async", driver.fill);
  find(library, "cuStreamSynchronize", driver.wait);
  find(library, "cuModuleLoadDataEx", driver.load_module);
  find(library, "cuModuleUnload", driver.unload_module);
  find(library, "cuLinkCreate_v2", driver.begin_link);
  find(library, "cuLinkAddData_v2", driver.add_to_link);
  find(library, "cuLinkComplete", driver.end_link);
  find(library, "cuLinkDestroy", driver.release_link);
  find(library, "cuModuleGetFunction", driver.function);
  find(library, "cuFuncGetAttribute", driver.function_attribute);
  find(library, "cuFuncSetAttribute", driver.set_function_attribute);
  find(library, "cuLaunchKernel", driver.launch);
  find(library, "cuGetErrorName", driver.error_name);
  find(library, "cuGetErrorString", driver.error_text);
  return driver;
}

CudaDriver load_driver() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail("there is no GPU that can be used: the system has no {}, NVIDIA's driver", kLibrary);
  const CudaDriver driver = find_functions(library);
  if (const auto result = driver.init(0); result != 0) {
    fail("there is no GPU that can be used: {}", text_of(driver, result));
  }
  int count = 0;
  int version = 0;
  driver.device_count(&count);
  driver.driver_version(&version);
  if (count == 0) fail("there is no GPU that can be used: the driver knows of none");
  if (version < kOldestDriver) {
    fail("the GPU's driver is for CUDA {}.{}, and {}.{} is needed at least", version / 1000, version % 1000 / 10,
         kOldestDriver / 1000, kOldestDriver % 1000 / 10);
  }
  return driver;
}

}  // namespace

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = load_driver();  // tried again where it failed
  return driver;
}

void check_cuda(CudaDriver::Result result, const char* what) {
  if (result != 0) fail("the GPU could not {}: {}", what, text_of(cuda_driver(), result));
}

}  // namespace tenon::devices
