#include "devices/gpu/gpu_linker.h"

#include <fmt/format.h>

#include <utility>

namespace tenon::devices {
namespace {

using Handle = CudaDriver::Handle;

constexpr int kPtxInput = 1;  // of the driver's interface

std::string identity_of(const CudaDriver& driver, const std::string& architecture) {
  int version = 0;
  check_cuda(driver.driver_version(&version), "tell the version of its driver");
  return fmt::format("code of GPUs\n{}\ndriver {}\n", architecture, version);
}

}  // namespace

GpuLinker::GpuLinker(const CudaDriver& driver, std::string architecture, bool keeps)
    : driver_(driver), identity_(identity_of(driver, architecture)), cache_({.enabled = keeps, .directory = {}}) {}

Handle GpuLinker::load(const std::string& ptx) {
  if (!cache_.enabled()) return load_image(ptx.c_str());
  const disk::ContentHash key = disk::content_hash(identity_ + ptx);
  if (const auto kept = cache_.load(key)) {
    Handle module = nullptr;
    if (driver_.load_module(&module, kept->data(), 0, nullptr, nullptr) == 0) return module;
  }
  const std::vector<char> code = link(ptx);
  if (code.empty()) return load_image(ptx.c_str());
  cache_.store(key, code);
  return load_image(code.data());
}

std::vector<char> GpuLinker::link(const std::string& ptx) const {
  Handle state = nullptr;
  if (driver_.begin_link(0, nullptr, nullptr, &state) != 0) return {};
  std::vector<char> code;
  void* image = nullptr;
  size_t size = 0;
  std::string text = ptx;  // the driver asks for memory that may change
  const auto added = driver_.add_to_link(state, kPtxInput, text.data(), text.size() + 1, "kernel", 0, nullptr, nullptr);
  if (added == 0 && driver_.end_link(state, &image, &size) == 0) {
    const auto* const first = static_cast<const char*>(image);
    code.assign(first, first + size);
  }
  driver_.release_link(state);
  return code;
}

Handle GpuLinker::load_image(const void* image) const {
  Handle module = nullptr;
  check_cuda(driver_.load_module(&module, image, 0, nullptr, nullptr), "load the code of a kernel");
  return module;
}

}  // namespace tenon::devices
