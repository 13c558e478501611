#include "device_tensors.h"

#include <nanobind/ndarray.h>

#include <bit>
#include <utility>

#include "exchange_functions.h"
#include "tensor/record/cell.h"
#include "tensor/record/symbols.h"

namespace tenon::python {

DeviceClasses& device_classes() {
  static auto& classes = *new DeviceClasses;
  return classes;
}

int64_t default_dtype_key() { return std::bit_cast<int64_t>(device_classes().default_dtype().ptr()); }

PyObject* attribute_name(const char* name) { return PyUnicode_InternFromString(name); }

nb::object try_attribute(nb::handle object, PyObject* name) {
  PyObject* const found = PyObject_GetAttr(object.ptr(), name);
  if (found == nullptr) {
    PyErr_Clear();
  }
  return nb::steal(found);
}

nb::object try_call(nb::handle object, PyObject* method) {
  PyObject* const found = PyObject_CallMethodObjArgs(object.ptr(), method, nullptr);
  if (found == nullptr) {
    PyErr_Clear();
  }
  return nb::steal(found);
}

namespace {

/// What the storage of a tensor without elements holds, whose address DLPack does not say.
std::shared_ptr<DeviceContent> content_of_storage(nb::handle x) {
  static PyObject* const untyped_storage = attribute_name("untyped_storage");
  static PyObject* const data_ptr = attribute_name("data_ptr");
  const nb::object storage = try_call(x, untyped_storage);
  const nb::object address = storage.is_valid() ? try_call(storage, data_ptr) : nb::object();
  uint64_t number = 0;
  return address.is_valid() && nb::try_cast(address, number) ? storage_at(number).content : nullptr;
}

bool is_negated(nb::handle x) { return !device_classes().is_negated(x).is(nb::handle(Py_False)); }

/// The view of the storage with a tensor's sizes, strides and offset, where it is remembered and has its dtype.
DeviceOperand remembered_view(const SeenTensor& seen) {
  const auto& type = seen.data.dtype;
  const auto offset = static_cast<int64_t>(seen.byte_offset / ((type.bits + 7U) / 8));
  const auto rank = static_cast<size_t>(seen.data.ndim);
  const std::span<const int64_t> strides(seen.data.strides, rank);
  const DeviceContent::Seen* const found = seen.content->find(storage_place({seen.data.shape, rank}, strides, offset));
  if (found == nullptr || !found->tensor.defined()) {
    return {};
  }
  if (dtype_from_dlpack({type.code, type.bits, type.lanes}) != found->tensor.dtype()) {
    return {};
  }
  return {.tensor = found->tensor, .strides = std::vector<int64_t>(strides.begin(), strides.end())};
}

}  // namespace

SeenTensor device_content(nb::handle x) {
  constexpr int32_t kExtensionDevice = 12;
  const DeviceClasses& classes = device_classes();
  const nb::handle type = x.type();
  if (!type.is(classes.tensor) && !type.is(classes.parameter) && !nb::isinstance(x, classes.tensor)) {
    return {};
  }
  SeenTensor seen;
  if (classes.exchange->read(x.ptr(), &seen.data) != 0) {
    PyErr_Clear();
    return {};
  }
  if (seen.data.device.type != kExtensionDevice) {
    return {};
  }
  if (seen.data.data == nullptr) {
    seen.content = content_of_storage(x);
    return seen;
  }
  FoundStorage found = storage_at(reinterpret_cast<uint64_t>(seen.data.data));
  seen.content = std::move(found.content);
  seen.byte_offset = found.byte_offset;
  return seen;
}

Tensor plain_tensor(nb::handle x) {
  const SeenTensor seen = device_content(x);
  if (!seen.content || !seen.content->plain().defined() || is_negated(x)) {
    return {};
  }
  return seen.content->plain();
}

DeviceOperand device_operand(nb::handle x) {
  const SeenTensor seen = device_content(x);
  if (!seen.content || is_negated(x)) {
    return {};
  }
  if (const Tensor& plain = seen.content->plain(); plain.defined()) {
    return {.tensor = plain, .strides = {}};
  }
  return seen.content->root().defined() ? remembered_view(seen) : DeviceOperand();
}

nb::object wrapped(const Tensor& tensor) {
  const Shape& shape = tensors::Access::handle(tensor).value().shape();
  const std::optional<std::vector<int64_t>> sizes = known_sizes(shape);
  if (!sizes) {
    return {};
  }
  return device_tensor(std::make_shared<DeviceContent>(own_tensor(tensor)), shape.dtype(), *sizes);
}

bool same_sizes(const Shape& a, const Shape& b) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) {
    return false;
  }
  for (int i = 0; i < a.rank(); ++i) {
    const auto size = tensors::size_of(a.extent(i));
    if (!size || size != tensors::size_of(b.extent(i))) {
      return false;
    }
  }
  return true;
}

}  // namespace tenon::python
