#include "devices/gpu/gpu_code.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/fail.h"

namespace tenon::devices {
namespace {

// Of the driver's interface.
constexpr int kFunctionThreads = 0, kFunctionShared = 1, kFunctionDynamic = 8;

}  // namespace

GpuCode::~GpuCode() {
  driver_.set_context(context_);
  for (const Handle module : modules_) {
    if (module != nullptr) driver_.unload_module(module);
  }
}

GpuCode::Handle GpuCode::in_device_memory(size_t kernel, int64_t phase) const {
  const std::lock_guard lock(mutex_);
  const auto object = static_cast<size_t>(of_kernels_[kernel]);
  if (texts_[object]->empty()) return nullptr;
  if (modules_[phases_.size() + object] == nullptr) {
    const std::string text(texts_[object]->begin(), texts_[object]->end());
    modules_[phases_.size() + object] = linker_.load(text);
  }
  Handle function = nullptr;
  const std::string name = fmt::format("phase{}_in_device_memory", phase);
  check_cuda(driver_.function(&function, modules_[phases_.size() + object], name.c_str()), "find a kernel");
  return function;
}

void GpuCode::load(const Module& module, Pool& pool, int64_t shared_bytes) {
  const size_t count = module.objects.size() / 2;
  modules_.assign(2 * count, nullptr);
  for (size_t i = 0; i < count; ++i)
    texts_.push_back(module.objects[count + i].bytes);
  phases_.resize(count);
  in_registers_.assign(count, 0);
  std::vector<std::string> errors(count);
  pool.parallel_for(static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end, int) {
    driver_.set_context(context_);
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      errors[i] = load_object(*module.objects[i].bytes, i, shared_bytes);
  });
  for (const std::string& each : errors) {
    if (!each.empty()) fail("{}", each);
  }
  of_kernels_ = module.object_of;
}

std::string GpuCode::load_object(const std::vector<char>& bytes, size_t i, int64_t shared_bytes) {
  const std::string text(bytes.begin(), bytes.end());  // which ends in a zero
  try {
    modules_[i] = linker_.load(text);
    const auto find = [&](Handle& function) {
      return driver_.function(&function, modules_[i], fmt::format("phase{}", phases_[i].size()).c_str()) == 0;
    };
    for (Phase phase; find(phase.function); phase = {}) {
      int threads = 0;
      int used = 0;
      check_cuda(driver_.function_attribute(&threads, kFunctionThreads, phase.function), "describe a kernel");
      check_cuda(driver_.function_attribute(&used, kFunctionShared, phase.function), "describe a kernel");
      phase.threads = static_cast<unsigned>(threads);
      phase.most_shared = shared_bytes - used;
      check_cuda(driver_.set_function_attribute(phase.function, kFunctionDynamic, static_cast<int>(phase.most_shared)),
                 "give a kernel its shared memory");
      phases_[i].push_back(phase);
    }
    load_scratch(text, i);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

void GpuCode::load_scratch(const std::string& text, size_t i) {
  constexpr std::string_view kInRegisters = "\n//in registers ";
  const size_t registers = text.find(kInRegisters);
  if (registers != std::string::npos) in_registers_[i] = std::stoll(text.substr(registers + kInRegisters.size()));
  constexpr std::string_view kNone = "\n//no scratch ";
  for (size_t at = text.find(kNone); at != std::string::npos; at = text.find(kNone, at + 1))
    phases_[i].at(std::stoul(text.substr(at + kNone.size()))).has_scratch = false;
}

}  // namespace tenon::devices
