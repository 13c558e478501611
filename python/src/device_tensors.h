// Tensors of PyTorch's device `tenon` as C++ sees them: read by DLPack's C functions, without a call of Python.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bind.h"
#include "device_storages.h"
#include "tenon/dlpack.h"

namespace tenon::python {

struct ExchangeFunctions;

/// What the package and PyTorch have that kernels need; lives as long as the process.
struct DeviceClasses {
  nb::object wrap;                      ///< handles.wrap, for results with strides
  nb::dict dtypes;                      ///< from PyTorch's dtypes to Tenon's
  nb::object tensor;                    ///< torch.Tensor
  nb::object parameter;                 ///< torch.nn.Parameter
  nb::object default_dtype;             ///< torch.get_default_dtype
  nb::object is_negated;                ///< torch.Tensor.is_neg
  std::vector<nb::object> plain_types;  ///< of arguments that are compared as Python does: dtypes, devices and the like
  const ExchangeFunctions* exchange = nullptr;
};
DeviceClasses& device_classes();

/// What tells default dtypes apart.
int64_t default_dtype_key();

/// A name of an attribute, made once; lives as long as the process.
PyObject* attribute_name(const char* name);
/// The attribute's value, or no object where there is none.
nb::object try_attribute(nb::handle object, PyObject* name);
/// What the method without arguments gives, or no object where it fails.
nb::object try_call(nb::handle object, PyObject* method);

/// A tensor of the device: where it lies, and what its storage holds.
struct SeenTensor {
  std::shared_ptr<DeviceContent> content;  // null for anything else
  dlpack::TensorData data;                 // sizes and strides live as long as the tensor
  uint64_t byte_offset = 0;                // of its first element, where it has one
};
SeenTensor device_content(nb::handle x);

/// The lazy tensor of a tensor of PyTorch's that fills its storage on the device; not defined for anything else.
Tensor plain_tensor(nb::handle x);

/// An operand: the lazy tensor, and the strides where it is a part of its storage.
struct DeviceOperand {
  Tensor tensor;
  std::optional<std::vector<int64_t>> strides;
};
/// The same of a tensor that fills its storage or is one of the views that the storage remembers; not defined for
/// others.
DeviceOperand device_operand(nb::handle x);

/// A tensor of PyTorch's with a storage of its own; no object where data decide a size.
nb::object wrapped(const Tensor& tensor);

bool same_sizes(const Shape& a, const Shape& b);

}  // namespace tenon::python
