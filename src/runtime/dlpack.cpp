#include "tenon/dlpack.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/fail.h"
#include "runtime/operand.h"

namespace tenon {
namespace {

constexpr int32_t kCpu = 1;

constexpr uint8_t kSigned = 0;
constexpr uint8_t kUnsigned = 1;
constexpr uint8_t kFloat = 2;
constexpr uint8_t kBfloat = 4;
constexpr uint8_t kBool = 6;

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

/// What keeps a tensor of ours alive.
struct Shared {
  dlpack::ManagedTensor managed;
  StridedArray array;
};

}  // namespace

StridedArray from_dlpack(dlpack::ManagedTensor* tensor) {
  const dlpack::Tensor& t = tensor->tensor;
  if (t.device.type != kCpu) {
    fail("a tensor on device {} of type {} is not in the CPU's memory", t.device.id, t.device.type);
  }
  const Dtype dtype = dtype_of(t.dtype);
  StridedArray result;
  result.dims.assign(t.shape, t.shape + t.ndim);
  Array::require_memory(dtype, result.dims);
  if (t.strides != nullptr) {
    result.strides.assign(t.strides, t.strides + t.ndim);
  } else {
    result.strides.assign(result.dims.size(), 1);
    for (size_t i = result.dims.size(); i-- > 1;) {
      result.strides[i - 1] = result.strides[i] * result.dims[i];
    }
  }
  std::byte* const first = static_cast<std::byte*>(t.data) + t.byte_offset;
  const auto element = static_cast<int64_t>(byte_size(dtype));
  if (reinterpret_cast<uintptr_t>(first) % static_cast<uintptr_t>(element) != 0) {
    fail("a tensor of {} at an address that {} does not divide", name(dtype), element);
  }
  int64_t before = 0;  // elements in front of the first, and from it to the last
  int64_t after = 1;
  const bool empty = std::ranges::find(result.dims, 0) != result.dims.end();
  for (size_t i = 0; i < result.dims.size() && !empty; ++i) {
    const int64_t reach = (result.dims[i] - 1) * result.strides[i];
    (reach < 0 ? before : after) += reach < 0 ? -reach : reach;
  }
  const int64_t count = empty ? 0 : before + after;
  result.offset = before;
  std::shared_ptr<std::byte[]> memory(first - before * element, [tensor](std::byte*) {
    if (tensor->deleter != nullptr) {
      tensor->deleter(tensor);
    }
  });
  result.base = Array::adopt(dtype, {count}, std::move(memory));
  return result;
}

dlpack::ManagedTensor* to_dlpack(const StridedArray& array) {
  auto shared = std::make_unique<Shared>();
  shared->array = array;
  dlpack::Tensor& t = shared->managed.tensor;
  const int64_t offset = array.offset * static_cast<int64_t>(byte_size(array.dtype()));
  t.data = const_cast<std::byte*>(shared->array.base.data()) + offset;
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
