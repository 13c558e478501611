#include "dispatch_functions.h"

#include <dlfcn.h>

#include <exception>
#include <string>
#include <utility>

/// The exception by which PyTorch's functions pass on one of Python's, in its layout: PyTorch catches it by its name.
struct __attribute__((visibility("default"))) python_error : std::exception {
  python_error() {
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (PyObject* const text = value == nullptr ? nullptr : PyObject_Str(value)) {
      Py_ssize_t size = 0;
      const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
      message = bytes == nullptr ? "" : std::string(bytes, static_cast<size_t>(size));
      Py_DECREF(text);
    }
    PyErr_Clear();
  }
  python_error(const python_error& other)
      : std::exception(other),
        type(other.type),
        value(other.value),
        traceback(other.traceback),
        message(other.message) {
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_XINCREF(type);
    Py_XINCREF(value);
    Py_XINCREF(traceback);
    PyGILState_Release(state);
  }
  python_error& operator=(const python_error&) = delete;
  ~python_error() override {
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyGILState_Release(state);
  }
  const char* what() const noexcept override { return message.c_str(); }

  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  std::string message;
};

namespace tenon::python {
namespace {

class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {}

  /// False where there is none.
  template <class Function>
  bool find(const char* name, Function& function) const {
    void* const found = handle_ == nullptr ? nullptr : dlsym(handle_, name);
    function = reinterpret_cast<Function>(found);
    return found != nullptr;
  }

 private:
  void* handle_;
};

const DispatchFunctions*& found_functions() {
  static const DispatchFunctions* found = nullptr;
  return found;
}

bool find_all(const std::string& folder, DispatchFunctions& f) {
  const Library cpu(folder + "/libtorch_cpu.so");
  const Library python(folder + "/libtorch_python.so");
  int32_t (*device)() = nullptr;
  const bool all =
      cpu.find("aoti_torch_library_init_impl", f.open_library) && cpu.find("torch_library_impl", f.set_kernel) &&
      cpu.find("torch_call_dispatcher", f.call) && cpu.find("aoti_torch_new_tensor_handle", f.copy_handle) &&
      cpu.find("aoti_torch_new_uninitialized_tensor", f.new_undefined) &&
      cpu.find("aoti_torch_delete_tensor_object", f.delete_handle) && cpu.find("aoti_torch_is_defined", f.is_defined) &&
      cpu.find("aoti_torch_get_data_ptr", f.data) && cpu.find("aoti_torch_get_dim", f.rank) &&
      cpu.find("aoti_torch_get_sizes", f.sizes) && cpu.find("aoti_torch_get_strides", f.strides) &&
      cpu.find("aoti_torch_get_dtype", f.dtype) && cpu.find("aoti_torch_get_device_type", f.device_type) &&
      cpu.find("aoti_torch__reinterpret_tensor", f.reinterpret) &&
      cpu.find("torch_new_list_reserve_size", f.new_list) && cpu.find("torch_list_push_back", f.append) &&
      cpu.find("torch_list_size", f.list_size) && cpu.find("torch_list_get_item", f.list_item) &&
      cpu.find("torch_delete_list", f.delete_list) && cpu.find("torch_string_length", f.text_size) &&
      cpu.find("torch_string_c_str", f.text_bytes) && cpu.find("torch_delete_string", f.delete_text) &&
      cpu.find("aoti_torch_device_type_privateuse1", device) &&
      cpu.find("_ZN2at19fromDLPackVersionedEP24DLManagedTensorVersionedSt8functionIFvPvEE", f.from_pack) &&
      python.find("_Z16THPVariable_WrapRKN2at10TensorBaseE", f.wrap);
  f.our_device = all ? device() : 0;
  return all;
}

}  // namespace

// It is PyTorch's, which takes it over from a new handle: nothing is counted here.
TensorSlot::~TensorSlot() {}  // NOLINT(modernize-use-equals-default): a class that is returned through memory

const DispatchFunctions* find_dispatch_functions(const std::string& folder) {
  static auto& functions = *new DispatchFunctions;
  static const bool found = find_all(folder, functions);
  found_functions() = found ? &functions : nullptr;
  return found_functions();
}

const DispatchFunctions* dispatch_functions() { return found_functions(); }

void throw_pending_error() { throw python_error(); }

}  // namespace tenon::python
