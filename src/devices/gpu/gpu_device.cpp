#include "devices/gpu/gpu_device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <sstream>
#include <string_view>
#include <variant>

#include "base/fail.h"
#include "devices/gpu/gpu_code.h"

namespace tenon::devices {
namespace {

using Address = CudaDriver::Address;
using Handle = CudaDriver::Handle;

// Of the driver's interface.
constexpr int kMultiprocessors = 16, kClock = 13, kMemoryClock = 36, kBusWidth = 37, kSecondCache = 38;
constexpr int kThreads = 39, kMajor = 75, kMinor = 76, kShared = 81, kRegisters = 82, kBlockShared = 97;
constexpr int kHasPools = 115, kPoolKeeps = 4;

constexpr size_t kStatuses = 1024;  // that a thread can ask for before it waits
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;
constexpr int64_t kBlocksOfLongScratch = 2;  // of a multiprocessor

/// The stream of the thread that calls.
Handle stream() { return reinterpret_cast<Handle>(uintptr_t{2}); }  // NOLINT(performance-no-int-to-ptr)

Address address(const void* memory) { return reinterpret_cast<Address>(memory); }

int attribute(const CudaDriver& driver, int which, int device) {
  int value = 0;
  check_cuda(driver.attribute(&value, which, device), "describe itself");
  return value;
}

}  // namespace

GpuDevice::GpuDevice(Pool& pool, bool keeps_code) : driver_(cuda_driver()), pool_(pool) {
  check_cuda(driver_.device(&device_, 0), "be opened");
  check_cuda(driver_.retain_context(&context_, device_), "be opened");
  multiprocessors_ = attribute(driver_, kMultiprocessors, device_);
  shared_bytes_ = attribute(driver_, kBlockShared, device_);
  has_pool_ = attribute(driver_, kHasPools, device_) != 0;
  const auto fact = [&](int which) { return attribute(driver_, which, device_); };
  linker_ = std::make_unique<GpuLinker>(driver_, fmt::format("sm_{}{}", fact(kMajor), fact(kMinor)), keeps_code);
  scans_ = std::make_unique<GpuScans>(driver_, *linker_);
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
  const auto ask = [&] {
    return has_pool_ ? driver_.allocate_in_order(&memory, size, stream()) : driver_.allocate(&memory, size);
  };
  auto result = ask();
  if (result == CudaDriver::kOutOfMemory && driver_.wait(stream()) == 0) result = ask();  // what goes back has gone now
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
  auto code = std::make_shared<GpuCode>(driver_, *linker_, context_);
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
  const Handle function = fits ? phase.function : in_device_memory;
  const auto result = driver_.launch(function, static_cast<unsigned>(blocks), 1, 1, phase.threads, 1, 1, shared,
                                     stream(), arguments.data(), nullptr);
  if (result != 0) check_cuda(result, fmt::format("run kernel `{}`", launch.facts.name).c_str());
  return {};
}

void GpuDevice::run_routine(const RoutineCall& call) {
  const auto* const scan = std::get_if<ScanRoutine>(&call.routine);
  if (scan != nullptr) {
    driver_.set_context(context_);
    if (scans_->run(*scan, call, stream())) return;
  }
  run_routine_on_host(*this, call, pool_);
}

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
