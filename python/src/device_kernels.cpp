// The common case of what PyTorch calls for an operator on its device `tenon`, in one call of C++: operands that fill
// their storages, results with storages of their own. The package's kernels, in Python, are for all other cases.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arguments.h"
#include "base/fail.h"
#include "bind.h"
#include "device_calls.h"
#include "device_tensors.h"
#include "dispatch_calls.h"
#include "tenon/cancel.h"
#include "tensor/record/cell.h"
#include "tensor/record/replay.h"
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
class DirectKernel final : public DeviceKernel {
 public:
  DirectKernel(const std::string& operation, bool in_place, nb::object otherwise)
      : operation_(operation),
        in_place_(in_place),
        otherwise_(std::move(otherwise)),
        other_(registered_kernel(otherwise_)) {}

  nb::object call(const nb::args& args, const nb::kwargs& kwargs) override {
    if (kwargs.empty() && args.size() == operation_.arity()) {
      nb::object made = try_record(args);
      if (made.is_valid()) {
        return made;
      }
    }
    return otherwise_(*args, **kwargs);
  }

  bool enter(DispatchCall& call, CallSignature& key) override {
    return try_enter(call) || (other_ != nullptr && other_->enter(call, key));
  }

  void forget() override {
    if (other_ != nullptr) {
      other_->forget();
    }
  }

  void learn(CallSignature key) override { other_->learn(std::move(key)); }

 private:
  bool try_enter(DispatchCall& call) {
    if (call.size() != operation_.arity()) {
      return false;
    }
    std::vector<TensorOperand> operands;
    operands.reserve(call.size());
    std::optional<Dtype> dtype;
    for (size_t i = 0; i < call.size(); ++i) {
      const TensorHandle x = call.tensor(i);
      const SeenHandle seen = x == nullptr ? SeenHandle() : seen_handle(x);
      if (!seen.content) {
        const std::optional<double> number = dtype && x != nullptr ? number_beside(x) : std::nullopt;
        if (!number) {
          return false;
        }
        operands.emplace_back(*number);
        continue;
      }
      const Tensor& operand = seen.content->plain();
      if (!operand.defined() || !is_float(operand.dtype()) || (dtype && dtype != operand.dtype()) ||
          (!dtype && seen.sizes.empty() && call.size() > 1)) {  // beside it, PyTorch tells numbers from tensors
        return false;
      }
      dtype = operand.dtype();
      operands.emplace_back(operand);
    }
    try {
      std::vector<OwnedHandle> results;
      const Tensor value = record(operands);
      if (in_place_) {
        Tensor target = *operands[0].tensor();
        if (!same_sizes(target.shape(), value.shape())) {
          return false;
        }
        target.copy_(value);
        results.push_back(copied_handle(call.tensor(0)));
      } else {
        results.push_back(wrapped_handle(value));
      }
      if (results[0].get() == nullptr) {
        return false;
      }
      call.give(std::move(results));
      return true;
    } catch (const Cancelled&) {
      throw;
    } catch (const nb::python_error&) {
      throw;
    } catch (const std::exception&) {  // the other kernel says what is wrong, in PyTorch's words
      return false;
    }
  }

  /// What the operator gives; no object where the case is another.
  nb::object try_record(const nb::args& args) {
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
        return wrapped(record(operands));
      }
      Tensor target = *operands[0].tensor();
      const Tensor value = record(operands);
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

  /// The operation over these; what it was for other tensors of these sizes, and these numbers, is recorded again.
  Tensor record(const std::vector<TensorOperand>& operands) {
    Words key;
    std::vector<Tensor> given;
    if (!read_key(operands, key, given)) {
      return operation_.record(operands);
    }
    const auto found = known_.find(key);
    if (found != known_.end()) {
      return found->second.record(given).front();
    }
    std::vector<Shape> shapes;
    for (const Tensor& each : given) {
      shapes.push_back(each.shape());
    }
    const std::vector<Tensor> stand_ins = tensors::Replay::stand_ins(shapes);
    std::vector<TensorOperand> others;
    size_t next = 0;
    for (const TensorOperand& operand : operands) {
      others.push_back(operand.tensor() != nullptr ? TensorOperand(stand_ins[next++]) : operand);
    }
    const Tensor result = operation_.record(others);
    if (auto replay = tensors::Replay::between(stand_ins, {&result, 1}, 1)) {
      if (known_.size() >= kMostKeys) {
        known_.clear();
      }
      return known_.insert_or_assign(std::move(key), *std::move(replay)).first->second.record(given).front();
    }
    return operation_.record(operands);
  }

  /// False for symbolic sizes, and for numbers that may become data.
  static bool read_key(const std::vector<TensorOperand>& operands, Words& key, std::vector<Tensor>& given) {
    for (const TensorOperand& operand : operands) {
      if (operand.tensor() == nullptr) {
        if (!stays_constant(operand.number())) {
          return false;
        }
        key.insert(key.end(), {-1, std::bit_cast<int64_t>(operand.number())});
        continue;
      }
      const Shape& shape = tensors::Access::handle(*operand.tensor()).value().shape();
      key.insert(key.end(), {static_cast<int64_t>(shape.dtype()), shape.rank()});
      for (const Axis& axis : shape.axes()) {
        if (axis.is_dynamic() || !axis.label().empty()) {
          return false;
        }
        key.push_back(*axis.extent().constant());
      }
      given.push_back(*operand.tensor());
    }
    return true;
  }

  static constexpr size_t kMostKeys = 4096;

  NamedOperation operation_;
  bool in_place_;
  nb::object otherwise_;
  std::shared_ptr<DeviceKernel> other_;  // that of `otherwise_`; null where it is Python's
  std::unordered_map<Words, tensors::Replay, WordsHash> known_;
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
  m.def("stays_constant", &stays_constant, nb::arg("number"),
        "Whether a number beside tensors is a constant wherever it stands: small whole ones, and those that are not "
        "finite.");
  m.def(
      "in_row",
      [](std::string name, std::vector<double> given, const nb::callable& call) {
        const RowScope scope(std::move(name), std::move(given));
        return call();
      },
      nb::arg("name"), nb::arg("given"), nb::arg("call"),
      "What `call` gives, which runs the row of an operator of PyTorch's that was given these numbers, which may be "
      "others at the next call: until they are, all numbers of the row are constants.");
  m.def(
      "direct_kernel",
      [](const std::string& operation, bool in_place, nb::object otherwise) {
        return kernel_function(std::make_shared<DirectKernel>(operation, in_place, std::move(otherwise)));
      },
      nb::arg("operation"), nb::arg("in_place"), nb::arg("otherwise"),
      "What PyTorch calls for an operator that is one operation of ours where all tensors have one float dtype and "
      "nothing else is given; other cases go to `otherwise`.");
}

}  // namespace tenon::python
