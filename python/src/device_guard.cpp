// What PyTorch's engine asks of the device while an exception of Python's may pass through it.
#include <utility>

#include "bind.h"

namespace tenon::python {
namespace {

/// torch.DeviceType.PrivateUse1, and the exception that was put aside last; they live as long as the process.
struct GuardState {
  nb::object type;
  nb::object error;
};
GuardState& guard_state() {
  static auto& state = *new GuardState;
  return state;
}

/// The pending exception, with its traceback; none pends any more. No object where none did.
nb::object take_pending() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) {
    return {};
  }
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) {
    PyException_SetTraceback(value, traceback);
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return nb::steal(value);
}

}  // namespace

void bind_device_guard(nb::module_& m) {
  m.def(
      "set_device_type", [](nb::object type) { guard_state().type = std::move(type); }, nb::arg("type"),
      "What device_type() gives.");
  m.def(
      "device_type",
      [] {
        if (PyErr_Occurred() != nullptr) {  // a call of Python's that succeeds while one pends is an error
          guard_state().error = take_pending();
        }
        return guard_state().type;
      },
      "The type of the device. An exception that pends is put aside for take_error().");
  m.def(
      "take_error",
      [] {
        nb::object error = std::exchange(guard_state().error, {});
        return error.is_valid() ? error : nb::none();
      },
      "The exception that was put aside last, once; or None.");
}

}  // namespace tenon::python
