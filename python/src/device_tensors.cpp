#include "device_tensors.h"

#include <nanobind/stl/vector.h>

#include <utility>

#include "tensor/record/symbols.h"

namespace tenon::python {

DeviceClasses& device_classes() {
  static auto& classes = *new DeviceClasses;
  return classes;
}

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

nb::object content_of(nb::handle x) {
  static PyObject* const untyped_storage = attribute_name("untyped_storage");
  static PyObject* const tenon = attribute_name("tenon");
  const nb::object storage = try_call(x, untyped_storage);
  return storage.is_valid() ? try_attribute(storage, tenon) : nb::object();
}

nb::object plain_of(nb::handle content) {
  static PyObject* const plain = attribute_name("plain");
  return content.is_valid() ? try_attribute(content, plain) : nb::object();
}

bool is_negated(nb::handle x) {
  static PyObject* const is_neg = attribute_name("is_neg");
  return !try_call(x, is_neg).is(nb::handle(Py_False));
}

/// The view of the storage with x's sizes, strides and offset, where it is remembered and has x's dtype.
DeviceOperand remembered_view(nb::handle x, const nb::object& content) {
  static PyObject* const views = attribute_name("views");
  static PyObject* const shape = attribute_name("shape");
  static PyObject* const stride = attribute_name("stride");
  static PyObject* const offset = attribute_name("storage_offset");
  static PyObject* const dtype = attribute_name("dtype");
  const nb::object all = try_attribute(content, views);
  if (!all.is_valid() || PyDict_CheckExact(all.ptr()) == 0) {
    return {};
  }
  const nb::object strides = try_call(x, stride);
  const nb::object key = nb::make_tuple(try_attribute(x, shape), strides, try_call(x, offset));
  PyObject* const found = PyDict_GetItemWithError(all.ptr(), key.ptr());
  if (found == nullptr) {
    PyErr_Clear();
    return {};
  }
  nb::object tensor = nb::borrow(found);
  if (!nb::isinstance<Tensor>(tensor)) {
    return {};
  }
  PyObject* const own = PyDict_GetItemWithError(device_classes().dtypes.ptr(), try_attribute(x, dtype).ptr());
  if (own == nullptr || nb::cast<Dtype>(nb::handle(own)) != nb::cast<const Tensor&>(tensor).dtype()) {
    return {};
  }
  return {std::move(tensor), nb::cast<std::vector<int64_t>>(strides)};
}

}  // namespace

nb::object plain_tensor(nb::handle x) {
  nb::object tensor = plain_of(content_of(x));
  if (!tensor.is_valid() || !nb::isinstance<Tensor>(tensor) || is_negated(x)) {
    return {};
  }
  return tensor;
}

DeviceOperand device_operand(nb::handle x) {
  const nb::object content = content_of(x);
  nb::object plain = plain_of(content);
  if (!plain.is_valid() || is_negated(x)) {
    return {};
  }
  if (nb::isinstance<Tensor>(plain)) {
    return {std::move(plain), {}};
  }
  return plain.is_none() ? remembered_view(x, content) : DeviceOperand();
}

nb::object wrapped(const nb::object& tensor) {
  static PyObject* const untyped_storage = attribute_name("untyped_storage");
  static PyObject* const tenon = attribute_name("tenon");
  const nb::object capsule = device_capsule(nb::cast<const Tensor&>(tensor));
  if (capsule.is_none()) {
    return {};
  }
  nb::object made = device_classes().from_capsule(capsule);
  const nb::object storage = try_call(made, untyped_storage);
  const nb::object content = device_classes().content(tensor);
  if (!storage.is_valid() || PyObject_SetAttr(storage.ptr(), tenon, content.ptr()) != 0) {
    throw nb::python_error();
  }
  return made;
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
