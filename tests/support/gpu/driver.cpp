// Functions of NVIDIA's driver, by their names: those that Tenon calls.
#include "driver.h"

#include <cstring>
#include <map>
#include <string>

#include "emulator.h"
#include "gpu.h"

namespace tenon::emulated_gpu {
namespace {

thread_local void* current = nullptr;
int context_memory = 0;
void* const kContext = &context_memory;

std::byte* host(Address address) { return reinterpret_cast<std::byte*>(address); }  // NOLINT(performance-no-int-to-ptr)

/// Of an operation that is no kernel: it must stay within an allocation.
void require(Gpu& gpu, Address address, size_t bytes) {
  if (bytes != 0) gpu.memory.part(address, bytes);
}

/// Kernels find by this what other blocks wrote; copies end all intervals.
int64_t attribute_of(const Gpu& gpu, int which) {
  const Settings& s = gpu.settings;
  switch (which) {
    case 1: return 1024;   // threads of a block
    case 8: return 49152;  // shared memory of a block, without being asked
    case 10: return kWarp;
    case 13: return 1980000;  // clock, kHz
    case 16: return s.multiprocessors;
    case 36: return 3201000;   // of the memory, kHz
    case 37: return 6144;      // its bits
    case 38: return 62914560;  // second cache
    case 39: return 2048;      // threads of a multiprocessor
    case 41: return 1;         // addresses are those of the process
    case 75: return s.major;
    case 76: return s.minor;
    case 81: return s.shared + 1024;  // shared memory of a multiprocessor
    case 82: return 65536;            // its registers
    case 97: return s.shared;
    case 115: return s.pools;
    default: throw Fault(kInvalidValue, "attribute " + std::to_string(which) + " is not known");
  }
}

}  // namespace

void* current_context() { return current; }

}  // namespace tenon::emulated_gpu

using namespace tenon::emulated_gpu;  // NOLINT(google-build-using-namespace)

// They are declared in the driver's own header.
#pragma GCC diagnostic ignored "-Wmissing-declarations"

extern "C" {

int cuInit(unsigned flags) {
  return call(
      [&](Gpu&) {
        if (flags != 0) throw Fault(kInvalidValue, "flags of cuInit");
      },
      false);
}

int cuDriverGetVersion(int* version) {
  return call([&](Gpu& gpu) { *version = static_cast<int>(gpu.settings.driver); }, false);
}

int cuDeviceGetCount(int* count) {
  return call([&](Gpu& gpu) { *count = static_cast<int>(gpu.settings.devices); }, false);
}

int cuDeviceGet(int* device, int ordinal) {
  return call(
      [&](Gpu& gpu) {
        if (ordinal < 0 || ordinal >= gpu.settings.devices) throw Fault(kNoDevice, "there is no such device");
        *device = ordinal;
      },
      false);
}

int cuDeviceGetName(char* name, int length, int) {
  return call([&](Gpu&) { std::strncpy(name, "an emulated GPU", static_cast<size_t>(length)); }, false);
}

int cuDeviceGetAttribute(int* value, int which, int) {
  return call([&](Gpu& gpu) { *value = static_cast<int>(attribute_of(gpu, which)); }, false);
}

int cuDeviceTotalMem_v2(size_t* bytes, int) {
  return call([&](Gpu& gpu) { *bytes = gpu.memory.limit(); }, false);
}

int cuMemGetInfo_v2(size_t* left, size_t* bytes) {
  return call([&](Gpu& gpu) {
    *left = gpu.memory.limit() - gpu.memory.used();
    *bytes = gpu.memory.limit();
  });
}

int cuDevicePrimaryCtxRetain(void** context, int) {
  return call([&](Gpu&) { *context = kContext; }, false);
}

int cuCtxSetCurrent(void* context) {
  return call(
      [&](Gpu&) {
        if (context != nullptr && context != kContext) throw Fault(kInvalidContext, "there is no such context");
        current = context;
      },
      false);
}

int cuMemAlloc_v2(Address* memory, size_t bytes) {
  return call([&](Gpu& gpu) {
    if (bytes == 0) throw Fault(kInvalidValue, "no bytes are asked for");
    gpu.finish_all();
    *memory = gpu.memory.allocate(bytes);
    if (*memory == 0) throw Fault(kOutOfMemory, "out of memory");
  });
}

int cuMemFree_v2(Address memory) {
  return call([&](Gpu& gpu) {
    gpu.finish_all();
    const std::string why = gpu.memory.release(memory);
    if (!why.empty()) throw Fault(kInvalidValue, why);
  });
}

int cuDeviceGetDefaultMemPool(void** pool, int) {
  return call([&](Gpu&) { *pool = &context_memory; }, false);
}

int cuMemPoolSetAttribute(void* pool, int, void*) {
  return call(
      [&](Gpu&) {
        if (pool != &context_memory) throw Fault(kInvalidValue, "there is no such pool");
      },
      false);
}

int cuMemAllocAsync(Address* memory, size_t bytes, void* stream) {
  return call([&](Gpu& gpu) {
    if (bytes == 0) throw Fault(kInvalidValue, "no bytes are asked for");
    *memory = gpu.memory.allocate(bytes);
    if (*memory == 0) gpu.finish_all();  // some of it may be on its way back
    if (*memory == 0) *memory = gpu.memory.allocate(bytes);
    if (*memory == 0) throw Fault(kOutOfMemory, "out of memory");
    gpu.stream(stream);
  });
}

int cuMemFreeAsync(Address memory, void* stream) {
  return call([&](Gpu& gpu) {
    gpu.ask(stream, [&gpu, memory] {
      const std::string why = gpu.memory.release(memory);
      if (!why.empty()) throw Fault(kInvalidValue, why);
    });
  });
}

int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, void* stream) {
  return call([&](Gpu& gpu) {  // the caller may change its memory when this returns
    const auto* const first = static_cast<const char*>(from);
    gpu.ask(stream, [&gpu, to, data = std::string(first, first + bytes)] {
      require(gpu, to, data.size());
      std::memcpy(host(to), data.data(), data.size());
    });
  });
}

int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, void* stream) {
  return call([&](Gpu& gpu) {
    gpu.ask(stream, [&gpu, to, from, bytes] {
      require(gpu, from, bytes);
      std::memcpy(to, host(from), bytes);
    });
  });
}

int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void* stream) {
  return call([&](Gpu& gpu) {
    gpu.ask(stream, [&gpu, to, from, bytes] {
      require(gpu, from, bytes);
      require(gpu, to, bytes);
      if (to < from + bytes && from < to + bytes) throw Fault(kInvalidValue, "a copy onto what it reads");
      std::memcpy(host(to), host(from), bytes);
    });
  });
}

int cuMemsetD8Async(Address to, unsigned char value, size_t count, void* stream) {
  return call([&](Gpu& gpu) {
    gpu.ask(stream, [&gpu, to, value, count] {
      require(gpu, to, count);
      std::memset(host(to), value, count);
    });
  });
}

int cuPointerGetAttribute(void* data, int which, Address address) {
  return call([&](Gpu& gpu) {
    try {
      gpu.memory.part(address, 1);
    } catch (const Fault& fault) {
      throw Fault(kInvalidValue, fault.what());
    }
    if (which == 2) {  // the kind of its memory: the device's
      *static_cast<unsigned*>(data) = 2;
    } else if (which == 9) {
      *static_cast<int*>(data) = 0;
    } else {
      throw Fault(kInvalidValue, "attribute " + std::to_string(which) + " of a pointer is not known");
    }
  });
}

int cuStreamCreate(void** stream, unsigned) {
  return call([&](Gpu& gpu) { *stream = gpu.make_stream(); });
}

int cuStreamDestroy_v2(void* stream) {
  return call([&](Gpu& gpu) { gpu.end_stream(stream); });
}

int cuStreamSynchronize(void* stream) {
  return call([&](Gpu& gpu) { gpu.finish(gpu.stream(stream)); });
}

int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return call([&](Gpu& gpu) {
    const Event marked = *static_cast<Event*>(event);
    gpu.ask(stream, [&gpu, marked] {
      if (marked.stream != nullptr) gpu.finish(*marked.stream, marked.order);
    });
  });
}

int cuEventCreate(void** event, unsigned) {
  return call([&](Gpu&) { *event = new Event; });
}

int cuEventDestroy_v2(void* event) {
  return call([&](Gpu&) { delete static_cast<Event*>(event); });
}

int cuEventRecord(void* event, void* stream) {
  return call([&](Gpu& gpu) { *static_cast<Event*>(event) = gpu.mark(stream); });
}

int cuEventSynchronize(void* event) {
  return call([&](Gpu& gpu) {
    const Event& marked = *static_cast<Event*>(event);
    if (marked.stream != nullptr) gpu.finish(*marked.stream, marked.order);
  });
}

int cuGetErrorName(int result, const char** name) {
  static const std::map<int, const char*> kNames = {{kSuccess, "CUDA_SUCCESS"},
                                                    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                    {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
                                                    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
                                                    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
                                                    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
                                                    {kNotFound, "CUDA_ERROR_NOT_FOUND"},
                                                    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                    {kTooManyResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
                                                    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS"},
                                                    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"}};
  const auto found = kNames.find(result);
  *name = found == kNames.end() ? "CUDA_ERROR_UNKNOWN" : found->second;
  return kSuccess;
}

int cuGetErrorString(int result, const char** text) {
  return call([&](Gpu& gpu) { *text = gpu.text_of(result); }, false);
}

void tenon_emulator_reset() {
  call([](Gpu& gpu) { gpu.reset(); }, false);
}

int tenon_emulator_set(const char* what, int64_t value) {
  return call(
      [&](Gpu& gpu) {
        Settings& s = gpu.settings;
        const std::map<std::string, int64_t*> known = {
            {"devices", &s.devices}, {"driver", &s.driver},
            {"major", &s.major},     {"minor", &s.minor},
            {"pools", &s.pools},     {"links", &s.links},
            {"shared", &s.shared},   {"multiprocessors", &s.multiprocessors}};
        const auto found = known.find(what);
        if (found != known.end()) {
          *found->second = value;
        } else if (std::string(what) == "memory") {
          gpu.memory.set_limit(static_cast<uint64_t>(value));
        } else {
          throw Fault(kInvalidValue, "there is no such setting");
        }
      },
      false);
}

int64_t tenon_emulator_count(const char* what) {
  int64_t value = -1;
  call(
      [&](Gpu& gpu) {
        const Counts& c = gpu.counts;
        const std::map<std::string, int64_t> known = {{"instructions", c.instructions},
                                                      {"launches", c.launches},
                                                      {"links", c.links},
                                                      {"compiles", c.compiles},
                                                      {"modules", static_cast<int64_t>(gpu.loaded.size())},
                                                      {"allocations", gpu.memory.live()},
                                                      {"bytes", static_cast<int64_t>(gpu.memory.used())}};
        const auto found = known.find(what);
        if (found != known.end()) value = found->second;
      },
      false);
  return value;
}

}  // extern "C"
