// Tensors of PyTorch's device `tenon`: capsules of DLPack's that PyTorch makes tensors of, without memory behind them.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "bind.h"
#include "tensor/record/symbols.h"

namespace tenon::python {
namespace {

constexpr int32_t kExtensionDevice = 12;                    // kDLExtDev: what PyTorch calls PrivateUse1
constexpr uint64_t kFirstAddress = uint64_t{1} << 53;       // beyond the address spaces of x86 and ARM: never mapped
constexpr uint64_t kAddressMask = (uint64_t{1} << 52) - 1;  // addresses come again after 2^52 bytes

/// DLManagedTensor of DLPack 0.x, with its sizes behind it.
struct ManagedTensor {
  nb::dlpack::dltensor tensor;
  void* context = nullptr;
  void (*deleter)(ManagedTensor*) = nullptr;
  std::vector<int64_t> sizes_and_strides;
  int64_t bytes = 0;
};

/// Bytes of all storages that live, and the most there were.
std::atomic<int64_t> held_bytes = 0;
std::atomic<int64_t> peak_bytes = 0;

void count_bytes(int64_t change) {
  const int64_t now = held_bytes.fetch_add(change) + change;
  int64_t peak = peak_bytes.load();
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
}

/// An address that no other storage has: storages of the device hold no memory, but programs tell storages apart by
/// where they begin and end.
uint64_t take_address(int64_t bytes) {
  static std::atomic<uint64_t> next = 0;
  const uint64_t rounded = (static_cast<uint64_t>(std::max<int64_t>(bytes, 1)) + 63) / 64 * 64;
  return kFirstAddress + (next.fetch_add(rounded) & kAddressMask);
}

void free_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
    auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  }
}

/// A capsule for a storage that is as large as its sizes say; strides, where there are any, stand behind the sizes.
nb::object capsule_of(Dtype dtype, std::vector<int64_t> sizes_and_strides, size_t rank) {
  auto managed = std::make_unique<ManagedTensor>();
  managed->sizes_and_strides = std::move(sizes_and_strides);
  std::vector<int64_t>& dims = managed->sizes_and_strides;
  managed->bytes = static_cast<int64_t>(byte_size(dtype));
  for (size_t i = 0; i < rank; ++i) {
    managed->bytes *= dims[i];
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers that nobody follows
  managed->tensor = {.data = reinterpret_cast<void*>(take_address(managed->bytes)),
                     .device = {kExtensionDevice, 0},
                     .ndim = static_cast<int32_t>(rank),
                     .dtype = dlpack_dtype(dtype),
                     .shape = dims.data(),
                     .strides = dims.size() > rank ? dims.data() + rank : nullptr,
                     .byte_offset = 0};
  managed->deleter = [](ManagedTensor* self) {
    count_bytes(-self->bytes);
    delete self;
  };
  PyObject* const capsule = PyCapsule_New(managed.get(), "dltensor", free_unused);
  if (capsule == nullptr) {
    throw nb::python_error();
  }
  count_bytes(managed->bytes);
  managed.release();  // NOLINT(bugprone-unused-return-value): whoever takes the capsule frees it
  return nb::steal(capsule);
}

}  // namespace

nb::object device_capsule(const Tensor& tensor, const std::optional<std::vector<int64_t>>& strides) {
  std::vector<int64_t> dims;
  const Shape shape = tensor.shape();
  for (const Axis& axis : shape.axes()) {
    const auto size = tensors::size_of(axis.extent());
    if (!size) {
      return nb::none();
    }
    dims.push_back(*size);
  }
  const size_t rank = dims.size();
  if (strides) {
    dims.insert(dims.end(), strides->begin(), strides->end());
  }
  return capsule_of(tensor.dtype(), std::move(dims), rank);
}

void bind_device_memory(nb::module_& m) {
  m.def(
      "device_capsule", &device_capsule, nb::arg("tensor"), nb::arg("strides") = nb::none(),
      nb::sig("def device_capsule(tensor: Tensor, strides: tuple[int, ...] | None = None) -> object"),
      "A DLPack capsule of the tensor's sizes on the device tenon, row-major or with these strides. Its memory cannot "
      "be read. None where data decide a size.");
  m.def(
      "device_bytes", [](int64_t count) { return capsule_of(u8, {count}, 1); }, nb::arg("count"),
      "The same for so many bytes of which no dtype is known.");
  m.def(
      "device_memory", [] { return nb::make_tuple(held_bytes.load(), peak_bytes.load()); },
      "Bytes of the tensors of the device, and the most there were.");
  m.def("reset_device_peak", [] { peak_bytes = held_bytes.load(); }, "The peak counts from now on.");
}

}  // namespace tenon::python
