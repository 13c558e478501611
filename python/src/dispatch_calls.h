// A call of a kernel by PyTorch's dispatcher, without Python: its arguments as a key and as lazy tensors, its results.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device_calls.h"
#include "device_storages.h"
#include "dispatch_functions.h"

namespace tenon::python {

/// What an operator takes and gives. Types are texts: T a tensor, i an integer, d a number, b a bool, t a dtype, l a
/// layout, m a memory format, v a device, s a text; "?" in front: or nothing; "[" in front: a list.
struct OperatorSchema {
  struct Argument {
    std::string name;
    std::string type;
    bool is_named = false;
    nb::object standard;  // the value where none is given; no object for none
  };
  std::vector<Argument> arguments;
  std::vector<std::string> results;
};

/// A tensor that a call of PyTorch's handed out; deleted at the end.
class OwnedHandle {
 public:
  OwnedHandle() = default;
  explicit OwnedHandle(TensorHandle handle) : handle_(handle) {}
  OwnedHandle(OwnedHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  OwnedHandle& operator=(OwnedHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  OwnedHandle(const OwnedHandle&) = delete;
  OwnedHandle& operator=(const OwnedHandle&) = delete;
  ~OwnedHandle();

  TensorHandle get() const { return handle_; }
  TensorHandle release() { return std::exchange(handle_, nullptr); }

 private:
  TensorHandle handle_ = nullptr;
};

/// A tensor of the device, as SeenTensor.
struct SeenHandle {
  std::shared_ptr<DeviceContent> content;  // null for anything else
  int32_t dtype = 0;                       // PyTorch's number
  int64_t offset = 0;                      // in elements
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;
};
SeenHandle seen_handle(TensorHandle tensor);
/// The number that a tensor without axes on the CPU is, where it is a float or an integer as numbers of Python are.
std::optional<double> number_beside(TensorHandle tensor);

class DispatchCall {
 public:
  DispatchCall(const OperatorSchema& schema, StableValue* stack);
  ~DispatchCall();
  DispatchCall(const DispatchCall&) = delete;
  DispatchCall& operator=(const DispatchCall&) = delete;

  const OperatorSchema& schema() const { return schema_; }
  size_t size() const { return schema_.arguments.size(); }
  /// The tensor that an argument is; null where it is none.
  TensorHandle tensor(size_t argument) const;

  /// What tells calls apart, from argument `first` on, and the tensors. False where an argument is none of which a key
  /// says all: a tensor of another device, or one whose lazy tensor is not at hand.
  bool read(size_t first, CallSignature& key);
  /// The operands that read() found, in the order of the arguments.
  const std::vector<Tensor>& operands() const { return operands_; }
  /// Which of them an argument that read() has seen is; null where it is no tensor.
  const Tensor* operand_of(size_t argument) const {
    const size_t end = argument + 1 < size() ? first_operand_[argument + 1] : operands_.size();
    return first_operand_[argument] == end ? nullptr : &operands_[first_operand_[argument]];
  }

  /// The arguments as PyTorch hands them to kernels in Python: those that are not given are left out.
  std::pair<nb::args, nb::kwargs> for_python() const;

  /// The results are these, of which a handle without a tensor is an undefined one.
  void give(std::vector<OwnedHandle> results);
  /// ... those of an object that a kernel in Python gave.
  void give(const nb::object& result);

 private:
  class Reader;
  class Maker;
  void release(const char* type, StableValue value);

  const OperatorSchema& schema_;
  StableValue* stack_;
  std::vector<StableValue> given_;
  std::vector<Tensor> operands_;
  std::vector<size_t> first_operand_;
};

/// What arguments are for kernels in Python; lives as long as the process.
struct PythonArguments {
  nb::dict dtypes;   // by PyTorch's numbers, as ...
  nb::dict layouts;  // ... these
  nb::dict formats;
  nb::object device;         // from a number of a kind and an index
  nb::object handle_of;      // from a tensor to a capsule of a new handle
  nb::object small_number;   // an f32 without axes on the CPU,
  nb::object small_integer;  // an i32
};
PythonArguments& python_arguments();

/// A kernel that PyTorch calls: by the Python key, or without Python.
class DeviceKernel {
 public:
  DeviceKernel() = default;
  virtual ~DeviceKernel() = default;
  DeviceKernel(const DeviceKernel&) = delete;
  DeviceKernel& operator=(const DeviceKernel&) = delete;

  virtual nb::object call(const nb::args& args, const nb::kwargs& kwargs) = 0;
  /// Gives the call its results; false where Python must be asked. `key`, where it is not empty, is for learn().
  virtual bool enter(DispatchCall& call, CallSignature& key) = 0;
  /// What call() finds out from now on is for the next learn() alone.
  virtual void forget() = 0;
  /// call() has just answered what enter() refused: let it be known by that key.
  virtual void learn(CallSignature key) = 0;
};

/// Makes what was thrown the exception of Python's that pends.
void let_pend(const std::exception_ptr& thrown);
/// What `call` gives; null, and an exception of Python's that pends, where it throws.
template <class Call>
auto pending_where_it_fails(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (...) {
    let_pend(std::current_exception());
  }
  return {};
}

/// What PyTorch calls for a kernel by the Python key: a function, which is found faster than the method of an object.
nb::object kernel_function(std::shared_ptr<DeviceKernel> kernel);
/// The kernel of such a function; null for another.
std::shared_ptr<DeviceKernel> registered_kernel(const nb::object& function);

/// A tensor of PyTorch's with a storage of its own that holds a lazy tensor; no handle where data decide a size.
OwnedHandle wrapped_handle(const Tensor& tensor);
/// The same tensor by another handle.
OwnedHandle copied_handle(TensorHandle tensor);

}  // namespace tenon::python
