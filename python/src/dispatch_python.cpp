// Arguments and results of kernels that PyTorch's dispatcher calls, as objects of Python's.
#include <bit>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "device_tensors.h"
#include "dispatch_calls.h"
#include "dispatch_values.h"

namespace tenon::python {

PythonArguments& python_arguments() {
  static auto& arguments = *new PythonArguments;
  return arguments;
}

class DispatchCall::Maker {
 public:
  static nb::object make(const char* type, StableValue value) {
    const PythonArguments& python = python_arguments();
    const int32_t number = number_of(value);
    switch (*type) {
      case '?': return value == 0 ? nb::none() : make(type + 1, *static_cast<StableValue*>(pointer_of(value)));
      case '[': {
        nb::list list;
        for (const StableValue item : items_of(value)) {
          list.append(make(type + 1, item));
        }
        return nb::object(list);
      }
      case 'T': return make_tensor(pointer_of(value));
      case 'd': return nb::float_(std::bit_cast<double>(value));
      case 'b': return nb::bool_((value & 0xFF) != 0);
      case 's': {
        const std::string_view text = text_of(value);
        return nb::str(text.data(), text.size());
      }
      case 't': return item(python.dtypes, number);
      case 'l': return item(python.layouts, number);
      case 'm': return item(python.formats, number);
      case 'v': return python.device(static_cast<int32_t>(value >> 32), number);
      default: return nb::int_(static_cast<int64_t>(value));
    }
  }

 private:
  static nb::object item(const nb::dict& dict, int32_t number) {
    PyObject* const found = PyObject_GetItem(dict.ptr(), nb::int_(number).ptr());
    if (found == nullptr) {
      throw nb::python_error();
    }
    return nb::steal(found);
  }

  static nb::object make_tensor(TensorHandle tensor) {
    if (!is_defined(tensor)) {
      return nb::none();
    }
    nb::object number = number_in(tensor);
    if (number.is_valid()) {
      return number;
    }
    nb::object made = nb::steal(dispatch_functions()->wrap(tensor));
    if (!made.is_valid()) {
      throw nb::python_error();
    }
    return made;
  }

  /// A number that stands for a tensor, as in `x * 2`, which only PyTorch's promotion tells from others without axes;
  /// no object for tensors.
  static nb::object number_in(TensorHandle tensor) {
    int32_t dtype = 0;
    const void* const data = number_data(tensor, dtype);
    if (data == nullptr) {
      return {};
    }
    if (dtype == torch_bool) {
      return nb::bool_(*static_cast<const bool*>(data));
    }
    if (!yields_to(tensor, dtype == torch_f64 ? python_arguments().small_number : python_arguments().small_integer)) {
      return {};
    }
    if (dtype == torch_f64) {
      return nb::float_(*static_cast<const double*>(data));
    }
    return nb::int_(*static_cast<const int64_t*>(data));
  }

  /// Whether the common dtype of both is that of `other`, which is smaller.
  static bool yields_to(TensorHandle tensor, const nb::object& other) {
    StableValue stack[2] = {value_of(copied_handle(tensor).release()), value_of(handle_of(other).release())};
    int32_t dtype = 0;
    const OwnedHandle smaller = handle_of(other);
    dispatch_functions()->dtype(smaller.get(), &dtype);
    check_said(dispatch_functions()->call("aten::result_type", "Tensor", stack, kDispatchVersion), "a common dtype");
    return number_of(stack[0]) == dtype;
  }

 public:
  static OwnedHandle handle_of(const nb::object& tensor) {
    const nb::object capsule = python_arguments().handle_of(tensor);
    void* const handle = PyCapsule_GetPointer(capsule.ptr(), nullptr);
    if (handle == nullptr) {
      throw nb::python_error();
    }
    return OwnedHandle(handle);
  }
};

std::pair<nb::args, nb::kwargs> DispatchCall::for_python() const {
  nb::list placed;
  nb::dict named;
  std::vector<nb::object> all;
  size_t count = 0;  // of those that are placed and not all standard behind it
  for (size_t i = 0; i < size(); ++i) {
    const OperatorSchema::Argument& argument = schema_.arguments[i];
    all.push_back(Maker::make(argument.type.c_str(), given_[i]));
    const bool is_standard = argument.standard.is_valid() && !nb::isinstance(all[i], device_classes().tensor) &&
                             all[i].type().is(argument.standard.type()) && all[i].equal(argument.standard);
    if (argument.is_named && !is_standard) {
      named[argument.name.c_str()] = all[i];
    } else if (!argument.is_named && !is_standard) {
      count = i + 1;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    placed.append(all[i]);
  }
  return {nb::borrow<nb::args>(nb::tuple(placed)), nb::borrow<nb::kwargs>(named)};
}

void DispatchCall::give(const nb::object& result) {
  std::vector<OwnedHandle> handles;
  const bool is_list = PyList_CheckExact(result.ptr()) != 0 || PyTuple_Check(result.ptr()) != 0;
  const bool has_several = schema_.results.size() != 1 || schema_.results[0] == "[T";
  if (!schema_.results.empty()) {
    const nb::object all = has_several && is_list ? result : nb::make_tuple(result);
    for (nb::handle each : nb::borrow<nb::sequence>(all)) {
      handles.push_back(each.is_none() ? OwnedHandle() : Maker::handle_of(nb::borrow(each)));
    }
  }
  give(std::move(handles));
}

}  // namespace tenon::python
