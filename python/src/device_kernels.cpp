// The common case of what PyTorch calls for an operator on its device `tenon`, in one call of C++: operands that fill
// their storages, results with storages of their own. The package's kernels, in Python, are for all other cases.
#include <nanobind/stl/string.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "bind.h"
#include "tenon/cancel.h"
#include "tensor/record/symbols.h"

namespace tenon::python {
namespace {

/// What the package and PyTorch have that kernels need; lives as long as the process.
struct DeviceClasses {
  nb::object content;       ///< storages.Content
  nb::object from_capsule;  ///< from a DLPack capsule to a tensor of PyTorch's
};

DeviceClasses& device_classes() {
  static auto& classes = *new DeviceClasses;
  return classes;
}

/// Names of attributes, made once.
PyObject* attribute(const char* name) { return PyUnicode_InternFromString(name); }

/// The attribute's value, or no object where there is none.
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

/// The lazy tensor of a tensor of PyTorch's that fills its storage on the device; no object for anything else.
nb::object plain_tensor(nb::handle x) {
  static PyObject* const untyped_storage = attribute("untyped_storage");
  static PyObject* const tenon = attribute("tenon");
  static PyObject* const plain = attribute("plain");
  static PyObject* const is_neg = attribute("is_neg");
  const nb::object storage = try_call(x, untyped_storage);
  const nb::object content = storage.is_valid() ? try_attribute(storage, tenon) : nb::object();
  nb::object tensor = content.is_valid() ? try_attribute(content, plain) : nb::object();
  if (!tensor.is_valid() || !nb::isinstance<Tensor>(tensor) || !try_call(x, is_neg).is(nb::handle(Py_False))) {
    return {};
  }
  return tensor;
}

bool is_plain_number(nb::handle x) { return PyFloat_CheckExact(x.ptr()) || PyLong_CheckExact(x.ptr()); }

/// A number that stands beside floats; no object for one that no double is near.
nb::object as_float(nb::handle number) {
  const double value =
      PyFloat_CheckExact(number.ptr()) ? PyFloat_AsDouble(number.ptr()) : PyLong_AsDouble(number.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return {};
  }
  return nb::steal(PyFloat_FromDouble(value));
}

/// A tensor of PyTorch's with a storage of its own; no object where data decide a size.
nb::object wrapped(const nb::object& tensor) {
  static PyObject* const untyped_storage = attribute("untyped_storage");
  static PyObject* const tenon = attribute("tenon");
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

/// An operator that is one operation of ours where all tensors have one float dtype.
class DirectKernel {
 public:
  DirectKernel(const std::string& operation, bool in_place, nb::object otherwise)
      : operation_(operation), in_place_(in_place), otherwise_(std::move(otherwise)) {}

  nb::object call(const nb::args& args, const nb::kwargs& kwargs) const {
    if (kwargs.empty() && args.size() == operation_.arity()) {
      nb::object made = try_record(args);
      if (made.is_valid()) {
        return made;
      }
    }
    return otherwise_(*args, **kwargs);
  }

 private:
  /// What the operator gives; no object where the case is another.
  nb::object try_record(const nb::args& args) const {
    std::vector<nb::object> operands;
    std::optional<Dtype> dtype;
    for (nb::handle each : args) {
      const bool is_number = is_plain_number(each);
      nb::object operand = !is_number ? plain_tensor(each) : dtype ? as_float(each) : nb::object();
      if (!operand.is_valid()) {
        return {};
      }
      if (!is_number) {
        const Dtype own = nb::cast<const Tensor&>(operand).dtype();
        if (!is_float(own) || (dtype && dtype != own)) {
          return {};
        }
        dtype = own;
      }
      operands.push_back(std::move(operand));
    }
    try {
      const nb::object result = operation_.call(operands);
      if (!in_place_) {
        return wrapped(result);
      }
      auto& target = nb::cast<Tensor&>(operands[0]);
      const auto& value = nb::cast<const Tensor&>(result);
      if (!same_sizes(target.shape(), value.shape())) {
        return {};
      }
      target.copy_(value);
      return nb::borrow(args[0]);
    } catch (const Cancelled&) {
      throw;
    } catch (const nb::python_error&) {
      throw;
    } catch (const std::exception&) {  // the other kernel says what is wrong, in PyTorch's words
      return {};
    }
  }

  NamedOperation operation_;
  bool in_place_;
  nb::object otherwise_;
};

/// The arguments with lazy tensors for tensors; None where one is of another kind than most are.
nb::object plain_arguments(const nb::tuple& args) {
  nb::list result;
  for (nb::handle each : args) {
    PyObject* const x = each.ptr();
    if (x == Py_None || PyBool_Check(x) || is_plain_number(each)) {
      result.append(each);
      continue;
    }
    if (PyList_CheckExact(x) || PyTuple_CheckExact(x)) {
      for (nb::handle inside : nb::borrow<nb::sequence>(each)) {
        if (!PyLong_Check(inside.ptr())) {
          return nb::none();
        }
      }
      result.append(nb::list(each));
      continue;
    }
    const nb::object tensor = plain_tensor(each);
    if (!tensor.is_valid()) {
      return nb::none();
    }
    result.append(tensor);
  }
  return result;
}

}  // namespace

void bind_device_kernels(nb::module_& m) {
  m.def(
      "set_device_classes",
      [](nb::object content, nb::object from_capsule) {
        device_classes() = {.content = std::move(content), .from_capsule = std::move(from_capsule)};
      },
      nb::arg("content"), nb::arg("from_capsule"), "What kernels of PyTorch's device make tensors of.");
  m.def(
      "plain_arguments", &plain_arguments, nb::arg("args"),
      "The arguments of an operator on PyTorch's device, with lazy tensors for tensors that fill their storages. None "
      "where one is of another kind.");
  m.def(
      "wrap_plain",
      [](const nb::object& tensor) {
        const nb::object made = wrapped(tensor);
        return made.is_valid() ? made : nb::none();
      },
      nb::arg("tensor"), "A tensor of PyTorch's device with a storage of its own; None where data decide a size.");
  nb::class_<DirectKernel>(m, "DirectKernel",
                           "What PyTorch calls for an operator that is one operation of ours where all tensors have "
                           "one float dtype and nothing else is given; other cases go to `otherwise`.")
      .def(nb::init<std::string, bool, nb::object>(), nb::arg("operation"), nb::arg("in_place"), nb::arg("otherwise"))
      .def("__call__", &DirectKernel::call);
}

}  // namespace tenon::python
