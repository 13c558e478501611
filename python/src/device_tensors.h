// Tensors of PyTorch's device `tenon` as C++ sees them: through the attributes that the package's Python hangs on them.
#pragma once

#include <optional>
#include <vector>

#include "bind.h"

namespace tenon::python {

/// What the package and PyTorch have that kernels need; lives as long as the process.
struct DeviceClasses {
  nb::object content;        ///< storages.Content
  nb::object from_capsule;   ///< from a DLPack capsule to a tensor of PyTorch's
  nb::object wrap;           ///< handles.wrap, for results with strides
  nb::object wrap_later;     ///< from a function, a dtype and sizes: a result that is built when somebody asks for it
  nb::dict dtypes;           ///< from PyTorch's dtypes to Tenon's
  nb::object tensor;         ///< torch.Tensor
  nb::object default_dtype;  ///< torch.get_default_dtype
  std::vector<nb::object> plain_types;  ///< of arguments that are compared as Python does: dtypes, devices and the like
};
DeviceClasses& device_classes();

/// A name of an attribute, made once; lives as long as the process.
PyObject* attribute_name(const char* name);
/// The attribute's value, or no object where there is none.
nb::object try_attribute(nb::handle object, PyObject* name);
/// What the method without arguments gives, or no object where it fails.
nb::object try_call(nb::handle object, PyObject* method);

/// The lazy tensor of a tensor of PyTorch's that fills its storage on the device; no object for anything else.
nb::object plain_tensor(nb::handle x);

/// An operand: the lazy tensor, and the strides where it is a part of its storage.
struct DeviceOperand {
  nb::object tensor;
  std::optional<std::vector<int64_t>> strides;
};
/// The same of a tensor that fills its storage or is one of the views that the storage remembers; no object for others.
DeviceOperand device_operand(nb::handle x);

/// A tensor of PyTorch's with a storage of its own; no object where data decide a size.
nb::object wrapped(const nb::object& tensor);

bool same_sizes(const Shape& a, const Shape& b);

}  // namespace tenon::python
