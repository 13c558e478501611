#include "device_storages.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <utility>

#include "base/fail.h"
#include "device_tensors.h"
#include "dispatch_calls.h"
#include "dispatch_functions.h"
#include "exchange_functions.h"
#include "tensor/record/cell.h"
#include "tensor/record/symbols.h"

namespace tenon::python {
namespace {

constexpr int32_t kExtensionDevice = 12;                    // kDLExtDev: what PyTorch calls PrivateUse1
constexpr uint64_t kFirstAddress = uint64_t{1} << 53;       // beyond the address spaces of x86 and ARM: never mapped
constexpr uint64_t kAddressMask = (uint64_t{1} << 52) - 1;  // addresses come again after 2^52 bytes
constexpr size_t kMostViews = 1024;                         // of one storage that are remembered

/// What a storage of PyTorch's has for memory.
struct DeviceStorage {
  VersionedTensor managed;
  std::vector<int64_t> sizes_and_strides;
  int64_t bytes = 0;
  uint64_t address = 0;
  std::shared_ptr<DeviceContent> content;
};

/// Those that live, by address. The interpreter's lock guards them.
std::map<uint64_t, DeviceStorage*>& storages() {
  static auto& all = *new std::map<uint64_t, DeviceStorage*>;
  return all;
}

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
  static uint64_t next = 0;
  const uint64_t rounded = (static_cast<uint64_t>(std::max<int64_t>(bytes, 1)) + 63) / 64 * 64;
  return kFirstAddress + (std::exchange(next, next + rounded) & kAddressMask);
}

/// PyTorch's last tensor on the storage is gone, on whatever thread.
void free_storage(VersionedTensor* managed) {
  auto* const storage = static_cast<DeviceStorage*>(managed->context);
  count_bytes(-storage->bytes);
  if (Py_IsInitialized() == 0) {
    return;  // the process ends, and what Python holds must not be touched
  }
  const nb::gil_scoped_acquire lock;
  storages().erase(storage->address);
  delete storage;
}

}  // namespace

StoragePlace storage_place(std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset) {
  StoragePlace place;
  place.reserve(sizes.size() + strides.size() + 1);
  place.insert(place.end(), sizes.begin(), sizes.end());
  place.insert(place.end(), strides.begin(), strides.end());
  place.push_back(offset);
  return place;
}

// --- What a storage holds

const Tensor& DeviceContent::plain() {
  if (make_) {
    plain_ = own_tensor(make_());
    make_ = nullptr;
  }
  return plain_;
}

void DeviceContent::set_root(Tensor root) {
  plain_ = {};
  make_ = nullptr;
  views_.clear();
  root_ = std::move(root);
}

void DeviceContent::open() {
  if (const Tensor whole = plain(); whole.defined()) {
    const std::optional<std::vector<int64_t>> sizes = known_sizes(whole.shape());
    TENON_CHECK(sizes.has_value(), "a storage of the device whose size is not known");
    set_root(whole);
    remember(storage_place(*sizes, row_major_strides(*sizes), 0), {.tensor = whole});
  }
}

const DeviceContent::Seen* DeviceContent::find(const StoragePlace& place) const {
  const auto found = views_.find(place);
  return found == views_.end() ? nullptr : &found->second;
}

void DeviceContent::remember(StoragePlace place, Seen seen) {
  if (views_.size() >= kMostViews) {
    views_.erase(views_.begin());  // it is found again from its strides
  }
  views_.insert_or_assign(std::move(place), std::move(seen));
}

void DeviceContent::clear() {
  set_root({});
  cpu = nb::none();
  raw = nb::none();
}

// --- Storages of PyTorch's

FoundStorage storage_at(uint64_t address) {
  const auto next = storages().upper_bound(address);
  if (next == storages().begin()) {
    return {};
  }
  const DeviceStorage& storage = *std::prev(next)->second;
  const uint64_t distance = address - storage.address;
  if (distance >= static_cast<uint64_t>(std::max<int64_t>(storage.bytes, 1))) {
    return {};
  }
  return {.content = storage.content, .byte_offset = distance};
}

namespace {

/// A storage that `make` hands to PyTorch.
template <class Make>
auto on_new_storage(std::shared_ptr<DeviceContent> content, Dtype dtype, std::span<const int64_t> sizes,
                    std::span<const int64_t> strides, const Make& make) {
  auto storage = std::make_unique<DeviceStorage>();
  std::vector<int64_t>& dims = storage->sizes_and_strides;
  dims.reserve(sizes.size() + strides.size());
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  dims.insert(dims.end(), strides.begin(), strides.end());
  storage->bytes = static_cast<int64_t>(byte_size(dtype));
  for (const int64_t size : sizes) {
    storage->bytes *= size;
  }
  storage->address = take_address(storage->bytes);
  storage->content = std::move(content);
  const nb::dlpack::dtype type = dlpack_dtype(dtype);
  storage->managed = {.version = {},
                      .context = storage.get(),
                      .deleter = free_storage,
                      .flags = 0,
                      // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers that nobody follows
                      .tensor = {.data = reinterpret_cast<void*>(storage->address),
                                 .device = {.type = kExtensionDevice, .id = 0},
                                 .ndim = static_cast<int32_t>(sizes.size()),
                                 .dtype = {.code = type.code, .bits = type.bits, .lanes = type.lanes},
                                 .shape = dims.data(),
                                 .strides = strides.empty() ? nullptr : dims.data() + sizes.size()}};
  auto made = make(&storage->managed);
  count_bytes(storage->bytes);
  storages().emplace_hint(storages().end(), storage->address, storage.get());
  storage.release();  // NOLINT(bugprone-unused-return-value): the tensor's now
  return made;
}

}  // namespace

nb::object device_tensor(std::shared_ptr<DeviceContent> content, Dtype dtype, std::span<const int64_t> sizes,
                         std::span<const int64_t> strides) {
  return on_new_storage(std::move(content), dtype, sizes, strides, [](VersionedTensor* managed) {
    void* made = nullptr;
    if (device_classes().exchange->from_managed(managed, &made) != 0) {
      throw nb::python_error();
    }
    return nb::steal(static_cast<PyObject*>(made));
  });
}

OwnedHandle device_handle(std::shared_ptr<DeviceContent> content, Dtype dtype, std::span<const int64_t> sizes) {
  return on_new_storage(std::move(content), dtype, sizes, {}, [](VersionedTensor* managed) {
    const DispatchFunctions& f = *dispatch_functions();
    TensorHandle made = nullptr;
    TENON_CHECK(f.new_undefined(&made) == 0, "an undefined tensor of PyTorch's");
    OwnedHandle handle(made);
    new (made) TensorSlot(f.from_pack(managed, {}));
    return handle;
  });
}

Tensor own_tensor(const Tensor& tensor) {
  return tensors::Access::handle(tensor).path.empty() ? tensor : tensor.clone();
}

std::optional<std::vector<int64_t>> known_sizes(const Shape& shape) {
  std::vector<int64_t> sizes;
  sizes.reserve(static_cast<size_t>(shape.rank()));
  for (const Axis& axis : shape.axes()) {
    const auto size = tensors::size_of(axis.extent());
    if (!size) {
      return {};
    }
    sizes.push_back(*size);
  }
  return sizes;
}

std::vector<int64_t> row_major_strides(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

// --- What the package in Python sees

namespace {

nb::object tensor_or_none(const Tensor& tensor) { return tensor.defined() ? nb::cast(tensor) : nb::none(); }

using Numbers = std::vector<int64_t>;

nb::object find_view(const DeviceContent& content, const Numbers& sizes, const Numbers& strides, int64_t offset) {
  const DeviceContent::Seen* const found = content.find(storage_place(sizes, strides, offset));
  if (found == nullptr) {
    return nb::none();
  }
  return found->tensor.defined() ? nb::cast(found->tensor) : found->positions;
}

void remember_view(DeviceContent& content, const Numbers& sizes, const Numbers& strides, int64_t offset,
                   const nb::object& seen) {
  StoragePlace place = storage_place(sizes, strides, offset);
  if (nb::isinstance<Tensor>(seen)) {
    content.remember(std::move(place), {.tensor = nb::cast<Tensor>(seen)});
  } else {
    content.remember(std::move(place), {.positions = seen});
  }
}

/// A new tensor of the sizes that a shape has; None where data decide one.
nb::object of_shape(std::shared_ptr<DeviceContent> content, const Shape& shape, const std::optional<Numbers>& strides) {
  const std::optional<Numbers> sizes = known_sizes(shape);
  if (!sizes) {
    return nb::none();
  }
  return device_tensor(std::move(content), shape.dtype(), *sizes, strides ? *strides : Numbers());
}

}  // namespace

void bind_device_storages(nb::module_& m) {
  nb::class_<DeviceContent>(m, "DeviceContent",
                            "What a storage of PyTorch's device holds, in one of these forms: `plain`, a lazy tensor "
                            "that fills the storage; `root`, a lazy tensor with all elements in the order of memory, "
                            "and views of it; `cpu`, a flat tensor on the CPU; `raw`, bytes on the CPU.")
      .def(nb::init<>())
      .def_prop_ro("plain", [](DeviceContent& self) { return tensor_or_none(self.plain()); })
      .def_prop_ro("root", [](const DeviceContent& self) { return tensor_or_none(self.root()); })
      .def_rw("cpu", &DeviceContent::cpu, nb::for_setter(nb::arg("value").none()))
      .def_rw("raw", &DeviceContent::raw, nb::for_setter(nb::arg("value").none()))
      .def("open", &DeviceContent::open, "Let there be views.")
      .def("clear", &DeviceContent::clear, "Nothing is held any more.")
      .def(
          "set_plain", [](DeviceContent& self, Tensor tensor) { self = DeviceContent(std::move(tensor)); },
          nb::arg("tensor"), "The form is plain.")
      .def("set_root", &DeviceContent::set_root, nb::arg("root"), "The form is a root without views.")
      .def("find", &find_view, nb::arg("sizes"), nb::arg("strides"), nb::arg("offset"),
           "The view of the root at this place, or None.")
      .def("remember", &remember_view, nb::arg("sizes"), nb::arg("strides"), nb::arg("offset"), nb::arg("seen"),
           "Let find() find it.")
      .def(
          "is_plain",
          [](DeviceContent& self, const Tensor& tensor) {
            return self.plain().defined() && tensors::Access::pointer(self.plain()) == tensors::Access::pointer(tensor);
          },
          nb::arg("tensor"), "Whether `plain` is this very tensor.");
  m.def(
      "find_content",
      [](nb::handle tensor) -> std::shared_ptr<DeviceContent> { return device_content(tensor).content; },
      nb::arg("tensor"), nb::sig("def find_content(tensor: object) -> DeviceContent | None"),
      "What the storage of a tensor holds; None for a tensor of another device, or without elements.");
  m.def(
      "content_at", [](uint64_t address) { return storage_at(address).content; }, nb::arg("address"),
      nb::sig("def content_at(address: int) -> DeviceContent | None"),
      "What the storage holds that lies there; None for one of another device.");
  m.def(
      "device_tensor",
      [](const Tensor& tensor, const std::optional<Numbers>& strides) {
        return of_shape(std::make_shared<DeviceContent>(own_tensor(tensor)), tensor.shape(), strides);
      },
      nb::arg("tensor"), nb::arg("strides") = nb::none(),
      nb::sig("def device_tensor(tensor: Tensor, strides: tuple[int, ...] | None = None) -> object"),
      "A tensor of PyTorch's device on a storage of its own, row-major or with these strides. None where data decide a "
      "size.");
  m.def(
      "later_device_tensor",
      [](std::function<Tensor()> make, nb::handle dtype, nb::handle sizes) {
        return of_shape(std::make_shared<DeviceContent>(std::move(make)), Shape(dtype_from(dtype), axes_from(sizes)),
                        {});
      },
      nb::arg("make"), nb::arg("dtype"), nb::arg("sizes"),
      "The same of a result that `make` gives when somebody asks for it.");
  m.def(
      "device_bytes",
      [](int64_t count, std::shared_ptr<DeviceContent> content) {
        return device_tensor(content ? std::move(content) : std::make_shared<DeviceContent>(), u8, {{count}});
      },
      nb::arg("count"), nb::arg("content").none() = nb::none(),
      "A tensor of so many bytes, of which no dtype is known, on a storage that holds `content`.");
  m.def(
      "device_memory", [] { return nb::make_tuple(held_bytes.load(), peak_bytes.load()); },
      "Bytes of the tensors of the device, and the most there were.");
  m.def("reset_device_peak", [] { peak_bytes = held_bytes.load(); }, "The peak counts from now on.");
}

}  // namespace tenon::python
