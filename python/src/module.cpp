// The Python module tenon._tenon.
#include "bind.h"
#include "interrupt.h"
#include "tenon/error.h"

namespace tenon::python {
namespace {

/// Errors become tenon.Error with the same text, an interrupted run KeyboardInterrupt.
void translate(const std::exception_ptr& thrown, void* payload) {
  auto* const error = static_cast<PyObject*>(payload);
  try {
    std::rethrow_exception(thrown);
  } catch (const Cancelled& cancelled) {
    if (take_interrupt() && PyErr_CheckSignals() != 0) {
      return;  // Python's handler has raised
    }
    PyErr_SetString(error, cancelled.what());
  } catch (const Error& refused) {
    PyErr_SetString(error, refused.what());
  } catch (const InternalError& broken) {
    PyErr_SetString(PyExc_SystemError, broken.what());
  }
}

}  // namespace
}  // namespace tenon::python

NB_MODULE(_tenon, m) {
  namespace nb = nanobind;
  // PyTorch's storages and the user's globals may outlive the module; tests hold memory flat instead.
  nb::set_leak_warnings(false);
  m.doc() = "Tenon's C++ side; see the package tenon.";
  const nb::object error = nb::steal(PyErr_NewExceptionWithDoc(
      "tenon.Error", "The model, the file or the call is wrong; the text says what and where.", PyExc_RuntimeError,
      nullptr));
  m.attr("Error") = error;
  nb::register_exception_translator(&tenon::python::translate, error.ptr());
  error.inc_ref();  // the translator's
  tenon::python::bind_shapes(m);
  tenon::python::bind_arrays(m);
  tenon::python::bind_graphs(m);
  tenon::python::bind_tensors(m);
  tenon::python::bind_device_memory(m);
  tenon::python::bind_executables(m);
  tenon::python::bind_models(m);
  tenon::python::bind_realizations(m);
  tenon::python::bind_modules(m);
  tenon::python::bind_optimizers(m);
}
