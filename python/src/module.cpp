// The Python module tenon._tenon.
#include "bind.h"
#include "interrupt.h"
#include "tenon/error.h"
#include "tenon/position_error.h"
#include "tenon/unsupported.h"
#include "tokens.h"

namespace tenon::python {
namespace {

/// The classes that errors of C++ become.
struct ErrorClasses {
  nb::object error;        ///< tenon.Error
  nb::object position;     ///< tenon.PositionError
  nb::object unsupported;  ///< tenon.Unsupported
};

/// Errors become tenon.Error with the same text, an interrupted run KeyboardInterrupt.
void translate(const std::exception_ptr& thrown, void* payload) {
  const auto* const classes = static_cast<const ErrorClasses*>(payload);
  PyObject* const error = classes->error.ptr();
  try {
    std::rethrow_exception(thrown);
  } catch (const Cancelled& cancelled) {
    if (take_interrupt() && PyErr_CheckSignals() != 0) {
      return;  // Python's handler has raised
    }
    PyErr_SetString(error, cancelled.what());
  } catch (const PositionError& outside) {
    PyErr_SetString(classes->position.ptr(), outside.what());
  } catch (const Unsupported& missing) {
    PyErr_SetString(classes->unsupported.ptr(), missing.what());
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
  const nb::object position =
      nb::steal(PyErr_NewExceptionWithDoc("tenon.PositionError", "An index lies outside of its axis.",
                                          nb::make_tuple(error, nb::handle(PyExc_IndexError)).ptr(), nullptr));
  m.attr("PositionError") = position;
  const nb::object unsupported = nb::steal(PyErr_NewExceptionWithDoc(
      "tenon.Unsupported", "The call makes sense, but Tenon has no such operation, dtype or kernel.", error.ptr(),
      nullptr));
  m.attr("Unsupported") = unsupported;
  // The translator's, which lives as long as the process.
  auto* const classes =
      new tenon::python::ErrorClasses{.error = error, .position = position, .unsupported = unsupported};
  nb::register_exception_translator(&tenon::python::translate, classes);
  tenon::python::bind_shapes(m);
  tenon::python::bind_arrays(m);
  tenon::python::bind_graphs(m);
  tenon::python::bind_tensors(m);
  tenon::python::bind_device_storages(m);
  tenon::python::bind_device_guard(m);
  tenon::python::bind_device_kernels(m);
  tenon::python::bind_device_replays(m);
  tenon::python::bind_device_views(m);
  tenon::python::bind_device_fills(m);
  tenon::python::bind_dispatch_kernels(m);
  tenon::python::bind_executables(m);
  tenon::python::bind_programs(m);
  tenon::python::bind_meshes(m);
  tenon::python::bind_tensor_calls(m);
  tenon::python::bind_weighted_calls(m);
  tenon::python::bind_models(m);
  tenon::python::bind_tokens(m);
  tenon::python::bind_realizations(m);
  tenon::python::bind_explanations(m);
  tenon::python::bind_modules(m);
  tenon::python::bind_optimizers(m);
}
