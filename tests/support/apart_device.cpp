#include "support/apart_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "base/fail.h"

namespace tenon {
namespace {

constexpr int64_t kRange = int64_t{8} << 30;

/// Kernels may be given an address before the memory that they use, by the rows that they leave out.
constexpr int64_t kMargin = kRange / 4;

std::byte* reserve(int protection) {
  void* const memory =
      mmap(nullptr, static_cast<size_t>(kRange), protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TENON_CHECK(memory != MAP_FAILED, "no address range of {} bytes", kRange);
  return static_cast<std::byte*>(memory);
}

}  // namespace

ApartDevice::ApartDevice(std::shared_ptr<devices::Device> inner)
    : inner_(std::move(inner)), shown_(reserve(PROT_NONE)), hidden_(reserve(PROT_READ | PROT_WRITE)) {
  offset_ = reinterpret_cast<intptr_t>(hidden_) - reinterpret_cast<intptr_t>(shown_);
  free_[shown_ + kMargin] = kRange - kMargin;
}

ApartDevice::~ApartDevice() {
  munmap(shown_, static_cast<size_t>(kRange));
  munmap(hidden_, static_cast<size_t>(kRange));
}

std::byte* ApartDevice::real(const void* address) const {
  const auto at = reinterpret_cast<intptr_t>(address);
  const auto first = reinterpret_cast<intptr_t>(shown_);
  TENON_CHECK(at >= first && at < first + kRange, "an address that is not the device's");
  return reinterpret_cast<std::byte*>(at + offset_);
}

std::byte* ApartDevice::allocate(int64_t bytes) {
  const int64_t size = (std::max<int64_t>(bytes, 1) + 63) / 64 * 64;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(free_, [&](const auto& range) { return range.second >= size; });
  if (found == free_.end()) {
    throw std::bad_alloc();
  }
  const auto [begin, all] = *found;
  free_.erase(found);
  if (all > size) {
    free_[begin + size] = all - size;
  }
  taken_[begin] = size;
  counters_.in_use += size;
  std::memset(real(begin), 0x5a, static_cast<size_t>(size));  // what was there before means nothing
  return begin;
}

void ApartDevice::release(std::byte* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto taken = taken_.find(memory);
  counters_.in_use -= taken->second;
  auto here = free_.emplace(memory, taken->second).first;
  taken_.erase(taken);
  if (const auto next = std::next(here); next != free_.end() && here->first + here->second == next->first) {
    here->second += next->second;
    free_.erase(next);
  }
  if (here != free_.begin()) {
    if (const auto before = std::prev(here); before->first + before->second == here->first) {
      before->second += here->second;
      free_.erase(here);
    }
  }
}

ApartDevice::Queue& ApartDevice::queue() {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Queue>& mine = queues_[std::this_thread::get_id()];
  if (!mine) {
    mine = std::make_unique<Queue>();
  }
  return *mine;
}

void ApartDevice::finish() {
  Queue& mine = queue();
  const std::vector<std::function<void()>> work = std::exchange(mine.work, {});
  for (const std::function<void()>& each : work) {
    each();
  }
}

void ApartDevice::copy_in(std::byte* to, const void* from, int64_t bytes) {
  counters_.bytes_in += bytes;
  if (bytes > 0) {
    const auto* const first = static_cast<const std::byte*>(from);
    queue().work.emplace_back(
        [this, to, copy = std::vector<std::byte>(first, first + bytes)] { std::ranges::copy(copy, real(to)); });
  }
}

void ApartDevice::copy_out(void* to, const std::byte* from, int64_t bytes) {
  counters_.bytes_out += bytes;
  finish();
  if (bytes > 0) {
    std::memcpy(to, real(from), static_cast<size_t>(bytes));
  }
}

void ApartDevice::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0) {
    queue().work.emplace_back([=, this] { std::memmove(real(to), real(from), static_cast<size_t>(bytes)); });
  }
}

bool ApartDevice::copy_view(const devices::ViewCopy& copy) {
  queue().work.emplace_back([this, copy, dims = std::vector<int64_t>(copy.dims.begin(), copy.dims.end()),
                             strides = std::vector<int64_t>(copy.strides.begin(), copy.strides.end())] {
    int64_t elements = 1;
    for (const int64_t dim : dims) {
      elements *= dim;
    }
    const auto bytes = static_cast<size_t>(copy.element_bytes);
    for (int64_t i = 0; i < elements; ++i) {
      int64_t rest = i;
      int64_t from = 0;
      for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) {
        from += rest % dims[axis] * strides[axis];
      }
      std::memcpy(real(copy.to + i * copy.element_bytes), real(copy.from + from * copy.element_bytes), bytes);
    }
  });
  return true;
}

std::shared_ptr<const devices::LoadedCode> ApartDevice::load(const devices::Module& module) {
  return inner_->load(module);
}

KernelStatus ApartDevice::launch(const devices::KernelLaunch& launch) {
  ++counters_.launches;
  Queue& mine = queue();
  const size_t count = launch.facts.sizes.size();
  mine.work.emplace_back([this, launch, &mine,
                          arguments = std::vector<void*>(launch.arguments.begin(), launch.arguments.end()),
                          sizes = std::vector<int64_t>(launch.sizes, launch.sizes + count)] {
    std::vector<void*> theirs;
    for (void* const argument : arguments) {
      theirs.push_back(argument == nullptr ? nullptr : real(argument));
    }
    const KernelStatus status = inner_->launch({.code = launch.code,
                                                .facts = launch.facts,
                                                .kernel = launch.kernel,
                                                .phase = launch.phase,
                                                .begin = launch.begin,
                                                .end = launch.end,
                                                .arguments = theirs,
                                                .sizes = sizes.data(),
                                                .scratch_bytes = launch.scratch_bytes,
                                                .order = launch.order});
    if (status.failed != 0) {
      mine.failures.push_back({.facts = &launch.facts, .order = launch.order, .status = status});
    }
  });
  return {};
}

void ApartDevice::run_routine(const devices::RoutineCall& call) {
  devices::run_routine_on_host(*this, call, Pool::shared());
}

std::vector<devices::LaunchFailure> ApartDevice::wait() {
  finish();
  return std::exchange(queue().failures, {});
}

}  // namespace tenon
