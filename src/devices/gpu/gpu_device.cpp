#include "devices/gpu/gpu_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <sstream>
#include <string_view>

#include "base/fail.h"

namespace tenon::devices {
namespace {

using Address = CudaDriver::Address;
using Handle = CudaDriver::Handle;

// Of the driver's interface.
constexpr int kMultiprocessors = 16, kClock = 13, kMemoryClock = 36, kBusWidth = 37, kSecondCache = 38;
constexpr int kThreads = 39, kMajor = 75, kMinor = 76, kShared = 81, kRegisters = 82, kBlockShared = 97;
constexpr int kHasPools = 115, kPoolKeeps = 4;
constexpr int kFunctionThreads = 0, kFunctionShared = 1, kFunctionDynamic = 8;

constexpr size_t kStatuses = 1024;  // that a thread can ask for before it waits
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;
constexpr int64_t kBlocksOfLongScratch = 2;  // of a multiprocessor

/// The stream of the thread that calls.
Handle stream() { return reinterpret_cast<Handle>(uintptr_t{2}); }  // NOLINT(performance-no-int-to-ptr)

Address address(const void* memory) { return reinterpret_cast<Address>(memory); }

class GpuCode : public LoadedCode {
 public:
  struct Phase {
    Handle function = nullptr;  // with scratch in shared memory
    unsigned threads = 1;
    int64_t most_shared = 0;  // bytes that a launch may ask for
    bool has_scratch = true;
    struct Short {
      Handle function = nullptr;
      unsigned threads = 1;
      int64_t most = 0;  // of these sizes
      std::vector<size_t> sizes;
    };
    std::vector<Short> of_short;  // fewest threads first

    /// For sizes of a launch; null: none.
    const Short* short_at(const int64_t* given) const {
      const auto found = std::ranges::find_if(of_short, [&](const Short& each) {
        return std::ranges::all_of(each.sizes, [&](size_t i) { return given[i] <= each.most; });
      });
      return found == of_short.end() ? nullptr : &*found;
    }
  };

  GpuCode(const CudaDriver& driver, Handle context) : driver_(driver), context_(context) {}
  ~GpuCode() override {
    driver_.set_context(context_);
    for (const Handle module : modules_) {
      if (module != nullptr) driver_.unload_module(module);
    }
  }

  size_t size() const override { return of_kernels_.size(); }
  const Phase& phase(size_t kernel, int64_t phase) const {
    return phases_[static_cast<size_t>(of_kernels_[kernel])][static_cast<size_t>(phase)];
  }

  /// With scratch in the device's memory. The driver compiles it when it is asked for. Null: there is none.
  Handle in_device_memory(size_t kernel, int64_t phase) const {
    const std::lock_guard lock(mutex_);
    const auto object = static_cast<size_t>(of_kernels_[kernel]);
    if (texts_[object]->empty()) return nullptr;
    if (modules_[phases_.size() + object] == nullptr) {
      const std::string text(texts_[object]->begin(), texts_[object]->end());
      check_cuda(driver_.load_module(&modules_[phases_.size() + object], text.c_str(), 0, nullptr, nullptr),
                 "load the code of a kernel");
    }
    Handle function = nullptr;
    const std::string name = fmt::format("phase{}_in_device_memory", phase);
    check_cuda(driver_.function(&function, modules_[phases_.size() + object], name.c_str()), "find a kernel");
    return function;
  }

  int64_t in_registers(size_t kernel) const { return in_registers_[static_cast<size_t>(of_kernels_[kernel])]; }

  void load(const Module& module, Pool& pool, int64_t shared_bytes) {
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

 private:
  /// Why it failed, or nothing.
  std::string load_object(const std::vector<char>& bytes, size_t i, int64_t shared_bytes) {
    const std::string text(bytes.begin(), bytes.end());  // which ends in a zero
    try {
      check_cuda(driver_.load_module(&modules_[i], text.c_str(), 0, nullptr, nullptr), "load the code of a kernel");
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
        check_cuda(
            driver_.set_function_attribute(phase.function, kFunctionDynamic, static_cast<int>(phase.most_shared)),
            "give a kernel its shared memory");
        phases_[i].push_back(phase);
      }
      load_short(text, i);
      load_scratch(text, i);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  /// The lines of kPtxCode that say which phases have functions for few elements.
  void load_short(const std::string& text, size_t i) {
    constexpr std::string_view kBegin = "\n//short ";
    for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
      const size_t begin = at + kBegin.size();
      std::istringstream line(text.substr(begin, text.find('\n', begin) - begin));
      size_t phase = 0;
      Phase::Short made;
      line >> phase >> made.threads >> made.most;
      for (size_t size = 0; line >> size;)
        made.sizes.push_back(size);
      const std::string name = fmt::format("phase{}_of_{}", phase, made.threads);
      check_cuda(driver_.function(&made.function, modules_[i], name.c_str()), "find a kernel");
      Phase& whole = phases_[i].at(phase);
      check_cuda(driver_.set_function_attribute(made.function, kFunctionDynamic, static_cast<int>(whole.most_shared)),
                 "give a kernel its shared memory");
      whole.of_short.push_back(std::move(made));
    }
  }

  /// The lines of kPtxCode that say how much scratch is in registers, and which phases have no other.
  void load_scratch(const std::string& text, size_t i) {
    constexpr std::string_view kInRegisters = "\n//in registers ";
    const size_t registers = text.find(kInRegisters);
    if (registers != std::string::npos) in_registers_[i] = std::stoll(text.substr(registers + kInRegisters.size()));
    constexpr std::string_view kNone = "\n//no scratch ";
    for (size_t at = text.find(kNone); at != std::string::npos; at = text.find(kNone, at + 1))
      phases_[i].at(std::stoul(text.substr(at + kNone.size()))).has_scratch = false;
  }

  const CudaDriver& driver_;
  Handle context_;
  std::vector<int64_t> in_registers_;  // bytes of a launch's scratch, by object
  mutable std::mutex mutex_;
  mutable std::vector<Handle> modules_;                          // by object; those of texts_ behind
  std::vector<std::shared_ptr<const std::vector<char>>> texts_;  // with scratch in the device's memory
  std::vector<std::vector<Phase>> phases_;                       // by object
  std::vector<int> of_kernels_;
};

int attribute(const CudaDriver& driver, int which, int device) {
  int value = 0;
  check_cuda(driver.attribute(&value, which, device), "describe itself");
  return value;
}

}  // namespace

GpuDevice::GpuDevice(Pool& pool) : driver_(cuda_driver()), pool_(pool) {
  check_cuda(driver_.device(&device_, 0), "be opened");
  check_cuda(driver_.retain_context(&context_, device_), "be opened");
  multiprocessors_ = attribute(driver_, kMultiprocessors, device_);
  shared_bytes_ = attribute(driver_, kBlockShared, device_);
  has_pool_ = attribute(driver_, kHasPools, device_) != 0;
  if (!has_pool_) return;
  Handle memories = nullptr;
  size_t memory = 0;
  check_cuda(driver_.total_memory(&memory, device_), "describe itself");
  check_cuda(driver_.default_pool(&memories, device_), "give its memory");
  uint64_t kept = memory / 4;
  check_cuda(driver_.set_pool_attribute(memories, kPoolKeeps, &kept), "keep memory");
}

GpuDevice::~GpuDevice() {
  driver_.set_context(context_);
  for (const auto& [id, thread] : threads_) {
    for (const Address each : {thread->statuses, thread->scratch}) {
      if (each != 0) release(reinterpret_cast<std::byte*>(each));  // NOLINT(performance-no-int-to-ptr)
    }
  }
}

GpuDevice::Thread& GpuDevice::mine() {
  driver_.set_context(context_);
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Thread>& thread = threads_[std::this_thread::get_id()];
  if (!thread) thread = std::make_unique<Thread>();
  return *thread;
}

std::byte* GpuDevice::allocate(int64_t bytes) {
  driver_.set_context(context_);
  Address memory = 0;
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  const auto result = has_pool_ ? driver_.allocate_in_order(&memory, size, stream()) : driver_.allocate(&memory, size);
  if (result == CudaDriver::kOutOfMemory) throw std::bad_alloc();
  check_cuda(result, "give memory");
  return reinterpret_cast<std::byte*>(memory);  // NOLINT(performance-no-int-to-ptr): the driver gives numbers
}

void GpuDevice::release(std::byte* memory) noexcept {
  driver_.set_context(context_);
  has_pool_ ? driver_.release_in_order(address(memory), stream()) : driver_.release(address(memory));
}

void GpuDevice::touch(std::byte* /*memory*/, int64_t /*bytes*/) {}

void GpuDevice::prepare_thread() { mine(); }

void GpuDevice::copy_in(std::byte* to, const void* from, int64_t bytes) {
  if (bytes <= 0) return;
  driver_.set_context(context_);
  check_cuda(driver_.copy_in(address(to), from, static_cast<size_t>(bytes), stream()), "take data");
}

void GpuDevice::copy_out(void* to, const std::byte* from, int64_t bytes) {
  driver_.set_context(context_);
  if (bytes > 0) check_cuda(driver_.copy_out(to, address(from), static_cast<size_t>(bytes), stream()), "give data");
  check_cuda(driver_.wait(stream()), "finish its work");
}

void GpuDevice::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes <= 0 || to == from) return;
  driver_.set_context(context_);
  const auto size = static_cast<size_t>(bytes);
  if (to + bytes <= from || from + bytes <= to) {
    check_cuda(driver_.copy(address(to), address(from), size, stream()), "copy");
    return;
  }
  std::byte* const between = allocate(bytes);
  const auto first = driver_.copy(address(between), address(from), size, stream());
  const auto second = driver_.copy(address(to), address(between), size, stream());
  const auto done = driver_.wait(stream());
  release(between);
  for (const auto result : {first, second, done})
    check_cuda(result, "copy");
}

std::shared_ptr<const LoadedCode> GpuDevice::load(const Module& module) {
  if (module.format != kPtxCode) fail("this code is for {}, and not for a GPU", module.description);
  auto code = std::make_shared<GpuCode>(driver_, context_);
  code->load(module, pool_, shared_bytes_);
  return code;
}

Address GpuDevice::scratch(Thread& thread, int64_t bytes) {
  if (thread.scratch_bytes < bytes) {
    check_cuda(driver_.wait(stream()), "finish its work");
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (thread.scratch != 0) release(reinterpret_cast<std::byte*>(thread.scratch));
    thread.scratch = 0;
    thread.scratch_bytes = 0;
    thread.scratch = address(allocate(bytes));
    thread.scratch_bytes = bytes;
  }
  return thread.scratch;
}

/// Of a launch that may fail; others share the first, which they leave as it is.
Address GpuDevice::next_status(Thread& thread, const KernelLaunch& launch) {
  if (thread.statuses == 0) {
    thread.statuses = address(allocate(kStatuses * sizeof(KernelStatus)));
    check_cuda(driver_.fill(thread.statuses, 0, kStatuses * sizeof(KernelStatus), stream()), "clear memory");
  }
  if (!launch.facts.may_fail()) return thread.statuses;
  if (thread.asked.size() + 1 == kStatuses) read_statuses(thread);
  thread.asked.push_back({.facts = &launch.facts, .order = launch.order});
  return thread.statuses + thread.asked.size() * sizeof(KernelStatus);
}

void GpuDevice::read_statuses(Thread& thread) {
  if (thread.asked.empty()) return;
  std::vector<KernelStatus> found(thread.asked.size() + 1);
  const size_t bytes = found.size() * sizeof(KernelStatus);
  check_cuda(driver_.copy_out(found.data(), thread.statuses, bytes, stream()), "give data");
  check_cuda(driver_.fill(thread.statuses, 0, bytes, stream()), "clear memory");
  check_cuda(driver_.wait(stream()), "finish its work");
  for (size_t i = 0; i < thread.asked.size(); ++i) {
    const Asked& asked = thread.asked[i];
    if (found[i + 1].failed != 0) {
      thread.failures.push_back({.facts = asked.facts, .order = asked.order, .status = found[i + 1]});
    }
  }
  thread.asked.clear();
}

KernelStatus GpuDevice::launch(const KernelLaunch& launch) {
  if (launch.begin >= launch.end) return {};
  Thread& thread = mine();
  const auto& code = static_cast<const GpuCode&>(launch.code);
  const GpuCode::Phase& phase = code.phase(launch.kernel, launch.phase);
  const int64_t scratch_bytes = phase.has_scratch ? launch.scratch_bytes - code.in_registers(launch.kernel) : 0;
  int64_t blocks = std::min(launch.end - launch.begin, kMostBlocks);
  const bool fits = scratch_bytes <= phase.most_shared;
  int64_t scratch_of_block = 0;
  Address memory = 0;
  const Handle in_device_memory = fits ? nullptr : code.in_device_memory(launch.kernel, launch.phase);
  if (!fits) {
    if (in_device_memory == nullptr) {
      fail("kernel `{}` needs {} bytes of the memory that a block shares, and the GPU gives it {}", launch.facts.name,
           scratch_bytes, phase.most_shared);
    }
    blocks = std::min(blocks, multiprocessors_ * kBlocksOfLongScratch);
    scratch_of_block = scratch_bytes;
    memory = scratch(thread, blocks * scratch_of_block);
  }
  std::vector<int64_t> words;  // arguments, all of 8 bytes
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    if (launch.facts.arguments[i].role != loops::Role::scratch) {
      words.push_back(static_cast<int64_t>(address(launch.arguments[i])));
    }
  }
  words.insert(words.end(), launch.sizes, launch.sizes + launch.facts.sizes.size());
  const auto status = static_cast<int64_t>(next_status(thread, launch));
  words.insert(words.end(), {status, launch.begin, launch.end, static_cast<int64_t>(memory), scratch_of_block});
  std::vector<void*> arguments;
  for (int64_t& word : words)
    arguments.push_back(&word);
  const auto shared = static_cast<unsigned>(fits ? scratch_bytes : 0);
  const GpuCode::Phase::Short* const few = fits ? phase.short_at(launch.sizes) : nullptr;
  const Handle function = few != nullptr ? few->function : fits ? phase.function : in_device_memory;
  const unsigned threads = few != nullptr ? few->threads : phase.threads;
  const auto result = driver_.launch(function, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, shared, stream(),
                                     arguments.data(), nullptr);
  if (result != 0) check_cuda(result, fmt::format("run kernel `{}`", launch.facts.name).c_str());
  return {};
}

void GpuDevice::run_routine(const RoutineCall& call) { run_routine_on_host(*this, call, pool_); }

std::vector<LaunchFailure> GpuDevice::wait() {
  Thread& thread = mine();
  check_cuda(driver_.wait(stream()), "finish its work");
  read_statuses(thread);
  return std::exchange(thread.failures, {});
}

Machine host_gpu_facts() {
  const CudaDriver& driver = cuda_driver();
  int device = 0;
  check_cuda(driver.device(&device, 0), "be opened");
  const auto fact = [&](int which) { return int64_t{attribute(driver, which, device)}; };
  std::array<char, 256> name{};
  size_t memory = 0;
  check_cuda(driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device), "describe itself");
  check_cuda(driver.total_memory(&memory, device), "describe itself");
  const int64_t major = fact(kMajor);
  if (major < 8)
    fail("the GPU is an {} of compute capability {}.{}, and 8.0 is needed at least", name.data(), major, fact(kMinor));
  constexpr int64_t kKilohertz = 1000;
  constexpr int64_t kHopper = 9;
  return {.name = name.data(),
          .facts = GpuMachine{.architecture = major >= kHopper ? "sm_90" : fmt::format("sm_{}{}", major, fact(kMinor)),
                              .multiprocessors = fact(kMultiprocessors),
                              .clock = fact(kClock) * kKilohertz,
                              .memory = static_cast<int64_t>(memory),
                              .bandwidth = 2 * fact(kMemoryClock) * kKilohertz * fact(kBusWidth) / 8,
                              .second_cache = fact(kSecondCache),
                              .shared_memory = fact(kShared),
                              .block_shared_memory = fact(kBlockShared),
                              .registers = fact(kRegisters),
                              .threads = fact(kThreads),
                              .ptx = 80}};
}

}  // namespace tenon::devices
