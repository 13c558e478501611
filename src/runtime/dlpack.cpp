#include "tenon/dlpack.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "base/fail.h"
#include "runtime/memory/operand.h"

namespace tenon {
namespace {

constexpr int32_t kCpu = 1;
constexpr int32_t kCuda = 2;
constexpr int32_t kPinnedByCuda = 3;

constexpr uint8_t kSigned = 0;
constexpr uint8_t kUnsigned = 1;
constexpr uint8_t kFloat = 2;
constexpr uint8_t kBfloat = 4;
constexpr uint8_t kBool = 6;

dlpack::Device device_of(const MemoryPlace& place) {
  return place.kind == DeviceKind::cpu ? dlpack::Device{.type = kCpu}
                                       : dlpack::Device{.type = kCuda, .id = place.index};
}

MemoryPlace place_of(const dlpack::Device& device) {
  if (device.type == kCpu || device.type == kPinnedByCuda) {
    return {};
  }
  if (device.type != kCuda || device.id < 0) {
    fail("a tensor on device {} of type {} is neither in the CPU's memory nor in that of a CUDA GPU", device.id,
         device.type);
  }
  return {.kind = DeviceKind::gpu, .index = device.id};
}

dlpack::DataType type_of(Dtype dtype) {
  const auto bits = static_cast<uint8_t>(8 * byte_size(dtype));
  const uint8_t code = dtype == Dtype::boolean    ? kBool
                       : dtype == Dtype::bf16     ? kBfloat
                       : is_float(dtype)          ? kFloat
                       : is_signed_integer(dtype) ? kSigned
                                                  : kUnsigned;
  return {.code = code, .bits = bits, .lanes = 1};
}

Dtype dtype_of(const dlpack::DataType& type) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const dlpack::DataType mine = type_of(dtype);
    if (mine.code == type.code && mine.bits == type.bits && type.lanes == 1) {
      return dtype;
    }
  }
  fail("a tensor of type code {} with {} bits and {} lanes has no dtype here", type.code, type.bits, type.lanes);
}

/// More than any library has; a larger number is not a rank but something else.
constexpr int32_t kMostAxes = 64;

/// Sizes and strides, without memory.
StridedArray layout_of(const dlpack::TensorData& t, Dtype dtype) {
  if (t.ndim < 0 || t.ndim > kMostAxes) {
    fail("a tensor of {} axes; there are 0 to {}", t.ndim, kMostAxes);
  }
  if (t.ndim > 0 && t.shape == nullptr) {
    fail("a tensor of {} axes without sizes: its shape is a null pointer", t.ndim);
  }
  StridedArray result;
  result.dims.assign(t.shape, t.shape + t.ndim);
  Array::require_memory(dtype, result.dims, place_of(t.device));
  if (t.strides != nullptr) {
    result.strides.assign(t.strides, t.strides + t.ndim);
    return result;
  }
  result.strides.assign(result.dims.size(), 1);
  const bool empty = std::ranges::find(result.dims, 0) != result.dims.end();  // then sizes may be anything beside it
  for (size_t i = result.dims.size(); i-- > 1 && !empty;) {
    result.strides[i - 1] = result.strides[i] * result.dims[i];
  }
  return result;
}

/// How many elements of memory there are before the first, and from it to the last.
struct Reach {
  int64_t before = 0;
  int64_t from = 0;

  int64_t count() const { return before + from; }
};

Reach reach_of(const StridedArray& array, Dtype dtype) {
  if (std::ranges::find(array.dims, 0) != array.dims.end()) {
    return {};
  }
  Reach reach{.before = 0, .from = 1};
  for (size_t i = 0; i < array.dims.size(); ++i) {
    const std::optional<int64_t> far = checked_mul(array.dims[i] - 1, array.strides[i]);
    int64_t& side = far && *far < 0 ? reach.before : reach.from;
    const std::optional<int64_t> sum = !far       ? std::nullopt
                                       : *far < 0 ? checked_sub(side, *far)
                                                  : checked_add(side, *far);
    const std::optional<int64_t> bytes = sum ? checked_mul(*sum, 2 * static_cast<int64_t>(byte_size(dtype))) : sum;
    if (!bytes) {
      fail("a tensor of {}[{}] whose strides [{}] lead out of the address space", name(dtype),
           fmt::join(array.dims, ", "), fmt::join(array.strides, ", "));
    }
    side = *sum;
  }
  return reach;
}

void release(dlpack::ManagedTensor* tensor) {
  if (tensor->deleter != nullptr) {
    tensor->deleter(tensor);
  }
}

/// What keeps a tensor of ours alive.
struct Shared {
  dlpack::ManagedTensor managed;
  StridedArray array;
};

}  // namespace

StridedArray from_dlpack(dlpack::ManagedTensor* tensor) {
  if (tensor == nullptr) {
    fail("there is no tensor: a null pointer was given");
  }
  const dlpack::TensorData& t = tensor->tensor;
  const MemoryPlace place = place_of(t.device);
  const Dtype dtype = dtype_of(t.dtype);
  const auto element = static_cast<int64_t>(byte_size(dtype));
  StridedArray result = layout_of(t, dtype);
  const Reach reach = reach_of(result, dtype);
  if (t.data == nullptr && reach.count() > 0) {
    fail("a tensor of {}[{}] without memory: its data is a null pointer", name(dtype), fmt::join(result.dims, ", "));
  }
  if (t.data == nullptr && place.kind == DeviceKind::cpu) {
    result.base = Array(dtype, {0});
    release(tensor);
    return result;
  }
  const auto address = reinterpret_cast<uintptr_t>(t.data);
  const uintptr_t first = address + t.byte_offset;
  const auto before = static_cast<uintptr_t>(reach.before * element);
  if (t.byte_offset > UINTPTR_MAX - address || before > first ||
      static_cast<uintptr_t>(reach.count() * element) > UINTPTR_MAX - (first - before)) {
    fail("a tensor of {}[{}] whose byte offset of {} leads out of the address space", name(dtype),
         fmt::join(result.dims, ", "), t.byte_offset);
  }
  if (first % static_cast<uintptr_t>(element) != 0) {
    fail("a tensor of {} at an address that {} does not divide", name(dtype), element);
  }
  result.offset = reach.before;
  Array::require_memory(dtype, {reach.count()}, place);
  auto* const begin = reinterpret_cast<std::byte*>(first - before);
  result.base = Array::adopt(dtype, {reach.count()},
                             {.place = place,
                              .address = begin,
                              .bytes = reach.count() * element,
                              .owner = std::shared_ptr<void>(tensor, release)});
  return result;
}

dlpack::ManagedTensor* to_dlpack(const StridedArray& array) {
  auto shared = std::make_unique<Shared>();
  shared->array = array;
  dlpack::TensorData& t = shared->managed.tensor;
  const int64_t offset = array.offset * static_cast<int64_t>(byte_size(array.dtype()));
  t.data = shared->array.base.storage().address + offset;
  t.device = device_of(array.base.place());
  t.ndim = static_cast<int32_t>(array.dims.size());
  t.dtype = type_of(array.dtype());
  t.shape = shared->array.dims.data();
  t.strides = shared->array.strides.data();
  shared->managed.context = shared.get();
  shared->managed.deleter = [](dlpack::ManagedTensor* self) { delete static_cast<Shared*>(self->context); };
  return &shared.release()->managed;
}

dlpack::ManagedTensor* to_dlpack(const Array& array) {
  StridedArray view{.base = array, .dims = array.dims(), .strides = std::vector<int64_t>(array.dims().size(), 1)};
  for (size_t i = view.dims.size(); i-- > 1;) {
    view.strides[i - 1] = view.strides[i] * view.dims[i];
  }
  return to_dlpack(view);
}

}  // namespace tenon
