#include "dispatch_calls.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <string_view>
#include <unordered_map>

#include "base/fail.h"
#include "device_tensors.h"
#include "dispatch_values.h"
#include "tensor/record/cell.h"

namespace tenon::python {
namespace {

std::optional<Dtype> dtype_of_torch(int32_t number) {
  switch (number) {
    case 0: return Dtype::u8;
    case 1: return Dtype::i8;
    case 2: return Dtype::i16;
    case 3: return Dtype::i32;
    case torch_i64: return Dtype::i64;
    case 5: return Dtype::f16;
    case torch_f32: return Dtype::f32;
    case torch_f64: return Dtype::f64;
    case torch_bool: return Dtype::boolean;
    case 15: return Dtype::bf16;
    case 27: return Dtype::u16;
    case 28: return Dtype::u32;
    case 29: return Dtype::u64;
    default: return {};
  }
}

}  // namespace

void check_said(int status, const char* what) {
  if (status != 0) {
    fail("PyTorch does not say {}", what);
  }
}

std::vector<StableValue> items_of(StableValue list) {
  size_t count = 0;
  check_said(dispatch_functions()->list_size(pointer_of(list), &count), "the size of a list of PyTorch's");
  std::vector<StableValue> items(count);
  for (size_t i = 0; i < count; ++i) {
    check_said(dispatch_functions()->list_item(pointer_of(list), i, &items[i]), "an item of a list of PyTorch's");
  }
  return items;
}

std::string_view text_of(StableValue text) {
  size_t size = 0;
  const char* bytes = nullptr;
  check_said(dispatch_functions()->text_size(pointer_of(text), &size), "the size of a text of PyTorch's");
  check_said(dispatch_functions()->text_bytes(pointer_of(text), &bytes), "a text of PyTorch's");
  return {bytes, size};
}

const void* number_data(TensorHandle tensor, int32_t& dtype) {
  const DispatchFunctions& f = *dispatch_functions();
  int32_t device = 0;
  int64_t rank = 0;
  void* data = nullptr;
  const bool is_one = f.device_type(tensor, &device) == 0 && device == 0 && f.rank(tensor, &rank) == 0 && rank == 0 &&
                      f.dtype(tensor, &dtype) == 0 &&
                      (dtype == torch_f64 || dtype == torch_i64 || dtype == torch_bool) && f.data(tensor, &data) == 0;
  return is_one ? data : nullptr;
}

bool is_defined(TensorHandle tensor) {
  bool defined = false;
  check_said(dispatch_functions()->is_defined(tensor, &defined), "whether a tensor of PyTorch's is defined");
  return defined;
}

OwnedHandle::~OwnedHandle() {
  if (handle_ != nullptr) {
    dispatch_functions()->delete_handle(handle_);
  }
}

SeenHandle seen_handle(TensorHandle tensor) {
  const DispatchFunctions& f = *dispatch_functions();
  SeenHandle seen;
  int32_t device = 0;
  void* data = nullptr;
  if (!is_defined(tensor) || f.device_type(tensor, &device) != 0 || device != f.our_device ||
      f.data(tensor, &data) != 0 || data == nullptr) {
    return seen;
  }
  FoundStorage found = storage_at(value_of(data));
  int64_t rank = 0;
  int64_t* sizes = nullptr;
  int64_t* strides = nullptr;
  if (!found.content || f.rank(tensor, &rank) != 0 || f.sizes(tensor, &sizes) != 0 ||
      f.strides(tensor, &strides) != 0 || f.dtype(tensor, &seen.dtype) != 0) {
    return seen;
  }
  const std::optional<Dtype> dtype = dtype_of_torch(seen.dtype);
  if (!dtype) {
    return seen;
  }
  seen.sizes = {sizes, static_cast<size_t>(rank)};
  seen.strides = {strides, static_cast<size_t>(rank)};
  seen.offset = static_cast<int64_t>(found.byte_offset / byte_size(*dtype));
  seen.content = std::move(found.content);
  return seen;
}

std::optional<double> number_beside(TensorHandle tensor) {
  int32_t dtype = 0;
  const void* const data = is_defined(tensor) ? number_data(tensor, dtype) : nullptr;
  if (data == nullptr || dtype == torch_bool) {
    return {};
  }
  return dtype == torch_f64 ? *static_cast<const double*>(data)
                            : static_cast<double>(*static_cast<const int64_t*>(data));
}

// --- Reading

/// Arguments as a key and operands.
class DispatchCall::Reader {
 public:
  Reader(CallSignature& key, std::vector<Tensor>& operands)
      : key_(key.words), shapes_(key.shapes), operands_(operands) {}

  bool read(const char* type, StableValue value) {
    switch (*type) {
      case '?':
        key_.push_back(value == 0 ? 0 : 1);
        return value == 0 || read(type + 1, *static_cast<StableValue*>(pointer_of(value)));
      case '[': return read_list(type + 1, value);
      case 's': return read_text(value);
      case 'T': return read_tensor(pointer_of(value));
      default: key_.push_back(static_cast<int64_t>(value)); return true;
    }
  }

 private:
  enum Kind : int64_t { undefined, plain, view };
  static constexpr int64_t kSymbolic = 4;

  bool read_list(const char* type, StableValue value) {
    const std::vector<StableValue> items = items_of(value);
    key_.push_back(static_cast<int64_t>(items.size()));
    return std::ranges::all_of(items, [&](StableValue item) { return read(type, item); });
  }

  bool read_text(StableValue value) {
    const std::string_view text = text_of(value);
    key_.push_back(static_cast<int64_t>(text.size()));
    key_.insert(key_.end(), text.begin(), text.end());
    return true;
  }

  bool read_tensor(TensorHandle tensor) {
    if (!is_defined(tensor)) {
      key_.push_back(Kind::undefined);
      return true;
    }
    const SeenHandle seen = seen_handle(tensor);
    if (!seen.content) {
      return false;
    }
    Tensor operand = seen.content->plain();
    const bool is_plain = operand.defined();
    if (!is_plain && seen.content->root().defined()) {
      const DeviceContent::Seen* const found = seen.content->find(storage_place(seen.sizes, seen.strides, seen.offset));
      operand = found == nullptr ? Tensor() : found->tensor;
    }
    if (!operand.defined()) {
      return false;
    }
    const Shape& shape = tensors::Access::handle(operand).value().shape();
    if (shape.dtype() != dtype_of_torch(seen.dtype)) {
      return false;
    }
    const bool is_symbolic = shape.is_dynamic();
    key_.insert(key_.end(), {(is_plain ? Kind::plain : Kind::view) + (is_symbolic ? kSymbolic : 0), seen.dtype,
                             static_cast<int64_t>(seen.sizes.size())});
    if (is_symbolic) {
      shapes_.push_back(shape);
    } else {
      key_.insert(key_.end(), seen.sizes.begin(), seen.sizes.end());
    }
    if (!is_plain) {
      key_.insert(key_.end(), seen.strides.begin(), seen.strides.end());
    }
    operands_.push_back(std::move(operand));
    return true;
  }

  Words& key_;
  std::vector<Shape>& shapes_;
  std::vector<Tensor>& operands_;
};

DispatchCall::DispatchCall(const OperatorSchema& schema, StableValue* stack)
    : schema_(schema), stack_(stack), given_(stack, stack + schema.arguments.size()) {}

TensorHandle DispatchCall::tensor(size_t argument) const {
  const std::string& type = schema_.arguments[argument].type;
  const StableValue value = given_[argument];
  if (type == "?T" && value != 0) {
    return pointer_of(*static_cast<const StableValue*>(pointer_of(value)));
  }
  return type == "T" ? pointer_of(value) : nullptr;
}

bool DispatchCall::read(size_t first, CallSignature& key) {
  operands_.clear();
  first_operand_.assign(size(), 0);
  key = {};
  key.words.reserve(32);
  Reader reader(key, operands_);
  for (size_t i = first; i < size(); ++i) {
    first_operand_[i] = operands_.size();
    if (!reader.read(schema_.arguments[i].type.c_str(), given_[i])) {
      key = {};
      return false;
    }
  }
  return true;
}

void DispatchCall::release(const char* type, StableValue value) {
  const DispatchFunctions& f = *dispatch_functions();
  switch (*type) {
    case '?':
      if (value != 0) {
        auto* const inside = static_cast<StableValue*>(pointer_of(value));
        release(type + 1, *inside);
        delete inside;
      }
      break;
    case '[':
      for (const StableValue item : items_of(value)) {
        release(type + 1, item);
      }
      f.delete_list(pointer_of(value));
      break;
    case 's': f.delete_text(pointer_of(value)); break;
    case 'T': f.delete_handle(pointer_of(value)); break;
    default: break;
  }
}

DispatchCall::~DispatchCall() {
  for (size_t i = 0; i < size(); ++i) {
    release(schema_.arguments[i].type.c_str(), given_[i]);
  }
}

// --- Results

void DispatchCall::give(std::vector<OwnedHandle> results) {
  const DispatchFunctions& f = *dispatch_functions();
  const auto defined = [&](OwnedHandle& each) {
    TensorHandle made = each.release();
    if (made == nullptr) {
      check_said(f.new_undefined(&made), "an undefined tensor of PyTorch's");
    }
    return value_of(made);
  };
  const std::vector<std::string>& types = schema_.results;
  if (types.size() == 1 && types[0] == "[T") {
    void* list = nullptr;
    check_said(f.new_list(results.size(), &list), "a list of PyTorch's");
    for (OwnedHandle& each : results) {
      check_said(f.append(list, defined(each)), "an item of a list of PyTorch's");
    }
    stack_[0] = value_of(list);
    return;
  }
  TENON_CHECK(results.size() == types.size(), "a kernel that gives other results than its operator");
  for (size_t i = 0; i < results.size(); ++i) {
    stack_[i] = defined(results[i]);
  }
}

namespace {

/// By the functions that they are behind; the interpreter's lock guards them.
std::unordered_map<PyObject*, std::shared_ptr<DeviceKernel>>& kernels() {
  static auto& all = *new std::unordered_map<PyObject*, std::shared_ptr<DeviceKernel>>;
  return all;
}

/// What Python calls: a function of C's, which takes the arguments as they come.
PyObject* call_kernel(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const nb::dict& none = *new nb::dict;
  return pending_where_it_fails([&] {
    auto* const kernel = static_cast<DeviceKernel*>(PyCapsule_GetPointer(self, nullptr));
    const nb::handle named = kwargs == nullptr ? nb::handle(none) : nb::handle(kwargs);
    return kernel->call(nb::borrow<nb::args>(args), nb::borrow<nb::kwargs>(named)).release().ptr();
  });
}

}  // namespace

void let_pend(const std::exception_ptr& thrown) {
  static const nb::object& rethrow = *new nb::object(nb::cpp_function(
      [](const nb::capsule& given) { std::rethrow_exception(*static_cast<const std::exception_ptr*>(given.data())); }));
  try {
    rethrow(nb::capsule(&thrown));
  } catch (nb::python_error& error) {
    error.restore();
  }
}

nb::object kernel_function(std::shared_ptr<DeviceKernel> kernel) {
  static PyMethodDef definition = {"kernel", std::bit_cast<PyCFunction>(&call_kernel), METH_VARARGS | METH_KEYWORDS,
                                   nullptr};
  const nb::capsule self(kernel.get());
  nb::object function = nb::steal(PyCFunction_NewEx(&definition, self.ptr(), nullptr));
  kernels().insert_or_assign(nb::object(function).release().ptr(), std::move(kernel));  // they live for good
  return function;
}

std::shared_ptr<DeviceKernel> registered_kernel(const nb::object& function) {
  const auto found = kernels().find(function.ptr());
  return found == kernels().end() ? nullptr : found->second;
}

OwnedHandle copied_handle(TensorHandle tensor) {
  TensorHandle made = nullptr;
  check_said(dispatch_functions()->copy_handle(tensor, &made), "a handle of a tensor of PyTorch's");
  return OwnedHandle(made);
}

OwnedHandle wrapped_handle(const Tensor& tensor) {
  const Shape& shape = tensors::Access::handle(tensor).value().shape();
  const std::optional<std::vector<int64_t>> sizes = known_sizes(shape);
  if (!sizes) {
    return {};
  }
  return device_handle(std::make_shared<DeviceContent>(own_tensor(tensor)), shape.dtype(), *sizes);
}

}  // namespace tenon::python
