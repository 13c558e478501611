#include "device_calls.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "device_tensors.h"
#include "tensor/record/cell.h"

namespace tenon::python {
namespace {

/// What stands in front of each argument.
enum Kind : int64_t { none, truth, integer, real, text, list, tensor, symbolic_tensor, strided, object, named };

class CallReader {
 public:
  explicit CallReader(DeviceCall& call) : call_(call) {}

  bool read(nb::handle x) {
    PyObject* const p = x.ptr();
    if (x.is_none()) {
      add(Kind::none);
      return true;
    }
    if (PyBool_Check(p)) {
      add(Kind::truth, x.is(nb::handle(Py_True)) ? 1 : 0);
      return true;
    }
    if (PyLong_CheckExact(p)) {
      return read_integer(p);
    }
    if (PyFloat_CheckExact(p)) {
      add(Kind::real, std::bit_cast<int64_t>(PyFloat_AsDouble(p)));
      return true;
    }
    if (PyList_CheckExact(p) || PyTuple_CheckExact(p)) {
      return read_list(x);
    }
    if (PyUnicode_CheckExact(p)) {
      return read_text(p);
    }
    return is_plain_object(x) ? read_object(x) : read_tensor(x);
  }

  bool read_text(PyObject* p) {
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(p, &size);
    if (bytes == nullptr) {
      PyErr_Clear();
      return false;
    }
    add(Kind::text, size);
    for (Py_ssize_t at = 0; at < size; at += 8) {
      int64_t word = 0;
      std::memcpy(&word, bytes + at, static_cast<size_t>(std::min<Py_ssize_t>(8, size - at)));
      call_.signature.words.push_back(word);
    }
    return true;
  }

 private:
  template <class... Words>
  void add(Words... words) {
    (call_.signature.words.push_back(static_cast<int64_t>(words)), ...);
  }

  bool read_integer(PyObject* p) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (overflow != 0) {
      return false;
    }
    add(Kind::integer, value);
    return true;
  }

  bool read_list(nb::handle x) {
    const Py_ssize_t count = PySequence_Size(x.ptr());
    add(Kind::list, count);
    for (Py_ssize_t i = 0; i < count; ++i) {
      const nb::object each = nb::steal(PySequence_GetItem(x.ptr(), i));
      if (!read(each)) {
        return false;
      }
    }
    return true;
  }

  /// Dtypes, devices, layouts and memory formats: they are compared as Python does.
  static bool is_plain_object(nb::handle x) {
    const nb::handle type = x.type();
    return std::ranges::any_of(device_classes().plain_types, [&](const nb::object& one) { return type.is(one); });
  }
  bool read_object(nb::handle x) {
    add(Kind::object);
    call_.signature.objects.push_back(nb::borrow(x));
    return true;
  }

  bool read_tensor(nb::handle x) {
    DeviceOperand operand = device_operand(x);
    if (!operand.tensor.defined()) {
      return false;
    }
    const Shape& shape = tensors::Access::handle(operand.tensor).value().shape();
    if (shape.is_dynamic()) {
      add(Kind::symbolic_tensor);
      call_.signature.shapes.push_back(shape);
    } else {
      add(Kind::tensor, shape.dtype(), shape.rank());
      for (const Axis& axis : shape.axes()) {
        add(*axis.extent().constant());
      }
    }
    if (operand.strides) {
      add(Kind::strided);
      call_.signature.words.insert(call_.signature.words.end(), operand.strides->begin(), operand.strides->end());
    }
    call_.operands.push_back(std::move(operand.tensor));
    return true;
  }

  DeviceCall& call_;
};

}  // namespace

bool CallSignature::operator==(const CallSignature& other) const {
  return words == other.words && shapes == other.shapes &&
         std::ranges::equal(objects, other.objects, [](const nb::object& a, const nb::object& b) {
           return a.is(b) || PyObject_RichCompareBool(a.ptr(), b.ptr(), Py_EQ) == 1;
         });
}

size_t WordsHash::operator()(const Words& words) const {
  uint64_t result = words.size();
  for (const int64_t word : words) {
    result = combine_hash(result, static_cast<uint64_t>(word));
  }
  return result;
}

uint64_t CallSignature::hash() const {
  uint64_t result = WordsHash()(words);
  for (const Shape& shape : shapes) {
    result = combine_hash(result, shape.hash());
  }
  return result;
}

bool read_call(const nb::args& args, const nb::kwargs& kwargs, DeviceCall& call) {
  call.signature.words.reserve(32);
  call.signature.objects.push_back(device_classes().default_dtype());
  CallReader reader(call);
  for (nb::handle each : args) {
    if (!reader.read(each)) {
      return false;
    }
  }
  for (const auto& [name, value] : kwargs) {
    if (!reader.read_text(name.ptr()) || !reader.read(value)) {
      return false;
    }
  }
  return true;
}

nb::list replace_tensors(nb::handle arguments, const std::vector<nb::object>& operands, size_t& next) {
  nb::list replaced;
  for (nb::handle each : nb::borrow<nb::sequence>(arguments)) {
    PyObject* const p = each.ptr();
    if (PyList_CheckExact(p) || PyTuple_CheckExact(p)) {
      replaced.append(replace_tensors(each, operands, next));
    } else if (nb::isinstance(each, device_classes().tensor)) {
      replaced.append(operands[next++]);
    } else {
      replaced.append(each);
    }
  }
  return replaced;
}

}  // namespace tenon::python
