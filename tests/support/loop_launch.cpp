#include "support/loop_launch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "support/arrays.h"

namespace tenon {
namespace {

constexpr std::align_val_t kScratchAlignment{64};

struct Release {
  void operator()(std::byte* memory) const { operator delete[](memory, kScratchAlignment); }
};
using Scratch = std::unique_ptr<std::byte[], Release>;

/// With the sizes that the kernel has names for.
Bindings with_arguments(const loops::Kernel& kernel, Bindings bindings) {
  const Bindings given = bindings;
  for (const auto& [name, extent] : kernel.arguments)
    bindings.set(name, evaluate(extent, given));
  return bindings;
}

}  // namespace

std::vector<Array> make_buffers(const loops::Kernel& kernel, const Bindings& given, uint64_t seed) {
  const Bindings bindings = with_arguments(kernel, given);
  std::mt19937_64 rng(seed);
  std::vector<Array> result;
  for (const loops::Buffer& buffer : kernel.buffers) {
    if (buffer.role == loops::Role::scratch) {
      result.emplace_back(buffer.dtype, std::vector<int64_t>{0});
      continue;
    }
    const std::vector<int64_t> dims = {resolve(buffer.elements, bindings)};
    if (buffer.role == loops::Role::input) {
      result.push_back(random_array(buffer.dtype, dims, rng));
    } else {
      Array array(buffer.dtype, dims);
      std::memset(array.mutable_data(), buffer.dtype == Dtype::boolean ? 1 : 0x5a, array.byte_count());
      result.push_back(std::move(array));
    }
  }
  return result;
}

KernelStatus launch(const loops::Kernel& kernel, const KernelEntry& entry, const Bindings& given,
                    std::vector<Array>& buffers, int64_t chunk) {
  const Bindings bindings = with_arguments(kernel, given);
  std::vector<void*> pointers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    pointers.push_back(kernel.buffers[i].role == loops::Role::scratch ? nullptr : buffers[i].mutable_data());
  }
  std::vector<int64_t> sizes;
  for (const Extent& extent : runtime_sizes(kernel)) {
    sizes.push_back(evaluate(extent, bindings));
  }
  const auto bytes = static_cast<size_t>(resolve(scratch_bytes(kernel), bindings));
  const Scratch scratch(static_cast<std::byte*>(operator new[](bytes, kScratchAlignment)));
  std::memset(scratch.get(), 0x5a, bytes);

  KernelStatus status;
  const KernelArgs args{.buffers = pointers.data(), .sizes = sizes.data(), .status = &status};
  for (size_t phase = 0; phase < kernel.phases.size(); ++phase) {
    const int64_t count = resolve(grid_size(kernel, kernel.phases[phase]), bindings);
    const int64_t step = chunk == 0 ? std::max<int64_t>(count, 1) : chunk;
    for (int64_t begin = 0; begin < count; begin += step) {
      entry(&args, static_cast<int64_t>(phase), begin, std::min(begin + step, count), scratch.get());
    }
  }
  return status;
}

}  // namespace tenon
