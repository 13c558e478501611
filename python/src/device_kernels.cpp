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
#include "base/fail.h"
#include "bind.h"
#include "device_tensors.h"
#include "tenon/cancel.h"
#include "tensor_exchange.h"

namespace tenon::python {
namespace {

bool is_plain_number(nb::handle x) { return PyFloat_CheckExact(x.ptr()) || PyLong_CheckExact(x.ptr()); }

/// A number that stands beside floats; nothing for one that no double is near.
std::optional<double> as_float(nb::handle number) {
  const double value =
      PyFloat_CheckExact(number.ptr()) ? PyFloat_AsDouble(number.ptr()) : PyLong_AsDouble(number.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return {};
  }
  return value;
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
    std::vector<TensorOperand> operands;
    operands.reserve(args.size());
    std::optional<Dtype> dtype;
    for (nb::handle each : args) {
      if (is_plain_number(each)) {
        const std::optional<double> number = dtype ? as_float(each) : std::nullopt;
        if (!number) {
          return {};
        }
        operands.emplace_back(*number);
        continue;
      }
      Tensor operand = plain_tensor(each);
      if (!operand.defined()) {
        return {};
      }
      const Dtype own = operand.dtype();
      if (!is_float(own) || (dtype && dtype != own)) {
        return {};
      }
      dtype = own;
      operands.emplace_back(std::move(operand));
    }
    try {
      if (!in_place_) {
        return wrapped(operation_.record(std::move(operands)));
      }
      Tensor target = *operands[0].tensor();
      const Tensor value = operation_.record(std::move(operands));
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
    const Tensor tensor = plain_tensor(each);
    if (!tensor.defined()) {
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
      [](nb::object wrap, nb::dict dtypes, nb::object tensor, nb::object parameter, nb::object default_dtype,
         std::vector<nb::object> plain_types) {
        const ExchangeFunctions* const exchange = exchange_functions(tensor);
        if (exchange == nullptr) {
          fail("the device tenon needs PyTorch 2.10 or later: this one's tensors have no functions of DLPack's");
        }
        nb::object is_negated = tensor.attr("is_neg");
        device_classes() = {.wrap = std::move(wrap),
                            .dtypes = std::move(dtypes),
                            .tensor = std::move(tensor),
                            .parameter = std::move(parameter),
                            .default_dtype = std::move(default_dtype),
                            .is_negated = std::move(is_negated),
                            .plain_types = std::move(plain_types),
                            .exchange = exchange};
      },
      nb::arg("wrap"), nb::arg("dtypes"), nb::arg("tensor"), nb::arg("parameter"), nb::arg("default_dtype"),
      nb::arg("plain_types"), "What kernels of PyTorch's device make tensors of.");
  m.def(
      "plain_arguments", &plain_arguments, nb::arg("args"),
      "The arguments of an operator on PyTorch's device, with lazy tensors for tensors that fill their storages. None "
      "where one is of another kind.");
  nb::class_<DirectKernel>(m, "DirectKernel",
                           "What PyTorch calls for an operator that is one operation of ours where all tensors have "
                           "one float dtype and nothing else is given; other cases go to `otherwise`.")
      .def(nb::init<std::string, bool, nb::object>(), nb::arg("operation"), nb::arg("in_place"), nb::arg("otherwise"))
      .def("__call__", &DirectKernel::call);
}

}  // namespace tenon::python
