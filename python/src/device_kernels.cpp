// The common case of what PyTorch calls for an operator on its device `tenon`, in one call of C++: operands that fill
// their storages, results with storages of their own. The package's kernels, in Python, are for all other cases.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "bind.h"
#include "device_tensors.h"
#include "tenon/cancel.h"

namespace tenon::python {
namespace {

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
      [](nb::object content, nb::object from_capsule, nb::object wrap, nb::object wrap_later, nb::dict dtypes,
         nb::object tensor, nb::object default_dtype, std::vector<nb::object> plain_types) {
        device_classes() = {.content = std::move(content),
                            .from_capsule = std::move(from_capsule),
                            .wrap = std::move(wrap),
                            .wrap_later = std::move(wrap_later),
                            .dtypes = std::move(dtypes),
                            .tensor = std::move(tensor),
                            .default_dtype = std::move(default_dtype),
                            .plain_types = std::move(plain_types)};
      },
      nb::arg("content"), nb::arg("from_capsule"), nb::arg("wrap"), nb::arg("wrap_later"), nb::arg("dtypes"),
      nb::arg("tensor"), nb::arg("default_dtype"), nb::arg("plain_types"),
      "What kernels of PyTorch's device make tensors of.");
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
