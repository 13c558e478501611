// Functions of NVIDIA's driver that have to do with code: modules, links, launches.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "driver.h"
#include "gpu.h"

namespace tenon::emulated_gpu {
namespace {

/// What a link makes: this, the driver's version and architecture, and the text.
constexpr const char* kLinked =
    "\x7f"
    "emulated code\n";

std::string identity(const Gpu& gpu) {
  return kLinked + std::to_string(gpu.settings.driver) + " sm_" + std::to_string(gpu.settings.major) +
         std::to_string(gpu.settings.minor) + "\n";
}

struct Link {
  std::string text;
  std::string made;
};

std::string ptx_of(Gpu& gpu, const void* image) {
  std::string text = static_cast<const char*>(image);  // which ends in a zero
  if (text.starts_with(kLinked)) {
    const std::string wanted = identity(gpu);
    if (!text.starts_with(wanted)) throw Fault(kInvalidImage, "code of another driver or GPU");
    return text.substr(wanted.size());
  }
  if (!text.starts_with("//") && text.find(".version") == std::string::npos) {
    throw Fault(kInvalidImage, "device kernel image is invalid");
  }
  ++gpu.counts.compiles;
  return text;
}

std::shared_ptr<Code>& code_of(void* function) { return *static_cast<std::shared_ptr<Code>*>(function); }

}  // namespace
}  // namespace tenon::emulated_gpu

using namespace tenon::emulated_gpu;  // NOLINT(google-build-using-namespace)

// They are declared in the driver's own header.
#pragma GCC diagnostic ignored "-Wmissing-declarations"

extern "C" {

int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  return call([&](Gpu& gpu) {
    auto loaded = gpu.load(ptx_of(gpu, image));
    *module = loaded.get();
    gpu.loaded[*module] = std::move(loaded);
  });
}

int cuModuleUnload(void* module) {
  return call([&](Gpu& gpu) {
    gpu.finish_all();
    if (gpu.loaded.erase(module) == 0) throw Fault(kInvalidHandle, "there is no such module");
  });
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  return call([&](Gpu& gpu) {
    const auto found = gpu.loaded.find(module);
    if (found == gpu.loaded.end()) throw Fault(kInvalidHandle, "there is no such module");
    const auto code = found->second->functions.find(name);
    if (code == found->second->functions.end()) throw Fault(kNotFound, "named symbol not found");
    *function = &code->second;
  });
}

int cuFuncGetAttribute(int* value, int which, void* function) {
  return call([&](Gpu&) {
    const Code& code = *code_of(function);
    if (which == 0) {
      *value = static_cast<int>(code.most_threads);
    } else if (which == 1) {
      *value = static_cast<int>(code.shared_bytes);
    } else if (which == 3) {
      *value = static_cast<int>(code.local_bytes);
    } else if (which == 4) {
      *value = std::min(code.registers, 255);
    } else {
      throw Fault(kInvalidValue, "attribute " + std::to_string(which) + " of a function is not known");
    }
  });
}

int cuFuncSetAttribute(void* function, int which, int value) {
  return call([&](Gpu& gpu) {
    Code& code = *code_of(function);
    if (which != 8 || value < 0 ||
        code.shared_bytes + static_cast<uint64_t>(value) > static_cast<uint64_t>(gpu.settings.shared)) {
      throw Fault(kInvalidValue, "more shared memory than a block can have");
    }
    code.most_dynamic = static_cast<uint64_t>(value);
  });
}

int cuLinkCreate_v2(unsigned, int*, void**, void** state) {
  return call([&](Gpu&) { *state = new Link; });
}

int cuLinkAddData_v2(void* state, int type, void* data, size_t bytes, const char*, unsigned, int*, void**) {
  return call([&](Gpu& gpu) {
    if (type != 1 || bytes == 0 || static_cast<char*>(data)[bytes - 1] != '\0') {
      throw Fault(kInvalidValue, "PTX is expected, with a zero behind it");
    }
    auto& link = *static_cast<Link*>(state);
    if (!link.text.empty()) throw Fault(kInvalidValue, "one text alone is known");
    link.text = static_cast<char*>(data);
    gpu.load(link.text);  // which finds what is wrong with it
    ++gpu.counts.compiles;
  });
}

int cuLinkComplete(void* state, void** code, size_t* bytes) {
  return call([&](Gpu& gpu) {
    if (gpu.settings.links == 0) throw Fault(kNotFound, "this driver links nothing");
    auto& link = *static_cast<Link*>(state);
    link.made = identity(gpu) + link.text;
    *code = link.made.data();
    *bytes = link.made.size() + 1;
    ++gpu.counts.links;
  });
}

int cuLinkDestroy(void* state) {
  return call([&](Gpu&) {
    auto* const link = static_cast<Link*>(state);
    std::ranges::fill(link->made, '?');  // it is not the caller's any more
    delete link;
  });
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                   void** extra) {
  return call([&](Gpu& gpu) {
    gpu.ask(stream, [&gpu, launch = launch_of(gpu, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                                              shared_bytes, arguments, extra)] { gpu.launch(launch); });
  });
}

}  // extern "C"

namespace tenon::emulated_gpu {

Launch launch_of(Gpu& gpu, void* function, Shape grid, Shape block, unsigned shared_bytes, void** arguments,
                 void** extra) {
  const std::shared_ptr<Code>& code = code_of(function);
  if (extra != nullptr) throw Fault(kInvalidValue, "arguments in a buffer are not known");
  constexpr unsigned kMostOfRest = 65535;
  const bool has_blocks = grid.x != 0 && grid.x <= 0x7fffffff && grid.y != 0 && grid.y <= kMostOfRest && grid.z != 0 &&
                          grid.z <= kMostOfRest;
  if (!has_blocks || block.count() == 0 || block.count() > 1024) throw Fault(kInvalidValue, "the shape of a launch");
  if (block.count() > code->most_threads) throw Fault(kInvalidValue, "more threads than the function is for");
  const uint64_t unasked =
      std::max<uint64_t>(code->most_dynamic, 49152 - std::min<uint64_t>(49152, code->shared_bytes));
  if (shared_bytes > unasked || code->shared_bytes + shared_bytes > static_cast<uint64_t>(gpu.settings.shared)) {
    throw Fault(kInvalidValue, "more shared memory than was asked for");
  }
  Launch launch{.code = code,
                .grid = grid,
                .block = block,
                .dynamic_bytes = shared_bytes,
                .parameters = std::vector<uint8_t>(code->parameter_bytes)};
  for (size_t i = 0; i < code->parameters.size(); ++i) {
    const auto [offset, bytes] = code->parameters[i];
    std::memcpy(launch.parameters.data() + offset, arguments[i], bytes);
  }
  return launch;
}

}  // namespace tenon::emulated_gpu
