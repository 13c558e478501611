#include "gpu.h"

#include <cstring>
#include <utility>

#include "decode.h"
#include "ptx_text.h"

namespace tenon::emulated_gpu {
namespace {

constexpr uint64_t kMemory = uint64_t{2} << 30;
constexpr size_t kMostWaiting = 4096;
void* const kStreamOfThread = reinterpret_cast<void*>(uintptr_t{2});  // NOLINT(performance-no-int-to-ptr)

}  // namespace

Gpu::Gpu() { memory.set_limit(kMemory); }

Gpu& Gpu::instance() {
  static Gpu* const gpu = new Gpu;  // which other static objects may use until the process ends
  return *gpu;
}

Stream& Gpu::stream(void* handle) {
  if (handle == kStreamOfThread) return of_threads_[std::this_thread::get_id()];
  if (reinterpret_cast<uintptr_t>(handle) <= 1) return default_;
  const auto found = made_.find(handle);
  if (found == made_.end()) throw Fault(kInvalidHandle, "there is no such stream");
  return *found->second;
}

void* Gpu::make_stream() {
  auto stream = std::make_unique<Stream>();
  void* const handle = stream.get();
  made_[handle] = std::move(stream);
  return handle;
}

void Gpu::end_stream(void* handle) {
  finish(stream(handle));
  made_.erase(handle);
}

void Gpu::ask(void* handle, std::function<void()> work) {
  Stream& to = stream(handle);
  to.waiting.push_back({.order = ++order_, .run = std::move(work)});
  if (to.waiting.size() > kMostWaiting) finish(to, order_ - kMostWaiting / 2);
}

void Gpu::finish(Stream& stream, uint64_t up_to) {
  while (!stream.waiting.empty() && stream.waiting.front().order <= up_to) {
    const auto work = std::move(stream.waiting.front().run);
    stream.waiting.pop_front();
    if (fault_ != 0) continue;
    try {
      work();
    } catch (const Fault& fault) {
      fault_ = fail(fault.result, fault.what());
    }
  }
}

void Gpu::finish_all() {
  finish(default_);
  for (auto& [id, stream] : of_threads_)
    finish(stream);
  for (auto& [handle, stream] : made_)
    finish(*stream);
}

Event Gpu::mark(void* handle) { return {.stream = &stream(handle), .order = order_}; }

int Gpu::fail(int result, const std::string& text) {
  texts_[result] = all_texts_.insert(text).first->c_str();
  return result;
}

const char* Gpu::text_of(int result) {
  const auto found = texts_.find(result);
  if (found != texts_.end()) return found->second;
  static const std::map<int, const char*> kTexts = {{kSuccess, "no error"},
                                                    {kOutOfMemory, "out of memory"},
                                                    {kNoDevice, "no CUDA-capable device is detected"},
                                                    {kInvalidImage, "device kernel image is invalid"},
                                                    {kNotFound, "named symbol not found"}};
  const auto known = kTexts.find(result);
  return known == kTexts.end() ? "an error of the emulated GPU" : known->second;
}

std::shared_ptr<LoadedModule> Gpu::load(const std::string& ptx) {
  auto module = std::make_shared<LoadedModule>();
  for (const auto& code : decode(parse_ptx(ptx), memory))
    module->functions[code->name] = code;
  return module;
}

void Gpu::launch(const Launch& launch) {
  ++counts.launches;
  counts.instructions += static_cast<int64_t>(run_launch(launch, memory, interval_));
}

void Gpu::reset() {
  fault_ = 0;
  texts_.clear();
  default_.waiting.clear();
  for (auto& [id, stream] : of_threads_)
    stream.waiting.clear();
  for (auto& [handle, stream] : made_)
    stream->waiting.clear();
  settings = {};
  memory.set_limit(kMemory);
}

}  // namespace tenon::emulated_gpu
