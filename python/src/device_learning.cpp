#include "device_learning.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "tensor/record/cell.h"

namespace tenon::python {
namespace {

using tensors::Replay;

bool read_results(KnownCall& known, const nb::object& result, std::vector<nb::object>& made) {
  static PyObject* const make = attribute_name("make");
  const bool is_tuple = PyTuple_Check(result.ptr()) != 0;
  known.form = is_tuple                               ? KnownCall::Form::tuple
               : PyList_CheckExact(result.ptr()) != 0 ? KnownCall::Form::list
                                                      : KnownCall::Form::one;
  const nb::object all = known.form == KnownCall::Form::one ? nb::make_tuple(result) : result;
  for (nb::handle each : nb::borrow<nb::sequence>(all)) {
    KnownCall::Result one;
    one.is_given = !each.is_none();
    nb::object tensor = nb::borrow(each);
    if (one.is_given && !nb::isinstance<Tensor>(each)) {
      const nb::object function = try_attribute(each, make);
      if (!function.is_valid()) {
        return false;
      }
      one.is_later = true;
      tensor = function();
      if (!nb::isinstance<Tensor>(tensor)) {
        return false;
      }
      const Shape shape = nb::cast<const Tensor&>(tensor).shape();
      const std::optional<std::vector<int64_t>> sizes = known_sizes(shape);
      if (!sizes) {
        return false;
      }
      one.dtype = shape.dtype();
      one.sizes = *sizes;
    }
    known.results.push_back(std::move(one));
    made.push_back(std::move(tensor));
  }
  return true;
}

/// Whether each result that is written has the sizes and the dtype of what it is written to.
bool fits_targets(KnownCall& known, const std::vector<nb::object>& made, const std::vector<ReplayTarget>& targets) {
  for (const ReplayTarget& target : targets) {
    if (target.result >= made.size() || !known.results[target.result].is_given ||
        known.results[target.result].is_later) {
      return false;
    }
    known.results[target.result].is_written = true;
    const DeviceOperand& written = target.operand;
    const Shape shape = written.tensor.shape();
    if (!same_sizes(shape, nb::cast<const Tensor&>(made[target.result]).shape())) {
      return false;
    }
    for (int k = 0; written.strides && k < shape.rank(); ++k) {
      if ((*written.strides)[static_cast<size_t>(k)] == 0 && !(shape.extent(k) == Extent(1))) {
        return false;  // one place for several elements
      }
    }
  }
  return true;
}

/// The strides of what the kernel in Python gave.
bool read_strides(KnownCall& known, const std::vector<size_t>& returned, const nb::object& outcome) {
  static PyObject* const stride = attribute_name("stride");
  static PyObject* const shape = attribute_name("shape");
  const bool is_one = PyTuple_Check(outcome.ptr()) == 0 && PyList_CheckExact(outcome.ptr()) == 0;
  if (outcome.is_none()) {
    return true;
  }
  if (is_one ? returned.size() != 1 : static_cast<size_t>(PySequence_Size(outcome.ptr())) != returned.size()) {
    return false;
  }
  for (size_t i = 0; i < returned.size(); ++i) {
    const nb::object each = is_one ? outcome : nb::steal(PySequence_GetItem(outcome.ptr(), static_cast<Py_ssize_t>(i)));
    KnownCall::Result& result = known.results[returned[i]];
    if (each.is_none() != !result.is_given) {
      return false;
    }
    if (each.is_none() || result.is_written) {
      continue;
    }
    const nb::object strides = try_call(each, stride);
    const auto sizes = nb::cast<std::vector<int64_t>>(try_attribute(each, shape));
    result.strides = row_major_strides(sizes) == nb::cast<std::vector<int64_t>>(strides) ? nb::none() : strides;
    if (result.is_later && !result.strides.is_none()) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<size_t> KnownCall::all_results() const {
  std::vector<size_t> all;
  for (size_t i = 0; i < results.size(); ++i) {
    all.push_back(i);
  }
  return all;
}

void learn_call(KnownCall& known, const nb::object& row, const DeviceCall& call, const nb::args& args,
                const nb::kwargs& kwargs, const std::vector<ReplayTarget>& targets, const std::vector<size_t>* returned,
                const nb::object& outcome) {
  std::vector<Shape> shapes;
  for (const Tensor& operand : call.operands) {
    shapes.push_back(operand.shape());
  }
  const std::vector<Tensor> stand_ins = Replay::stand_ins(shapes);
  std::vector<nb::object> operands;
  for (const Tensor& each : stand_ins) {
    operands.push_back(nb::cast(each));
  }
  size_t next = 0;
  const nb::list given = replace_tensors(args, operands, next);
  nb::dict named;
  for (const auto& [name, value] : kwargs) {
    named[name] = replace_tensors(nb::make_tuple(value), operands, next)[0];
  }
  const tensors::WithoutElements blind;
  std::vector<nb::object> made;
  try {
    const nb::object result = row(given, named);
    if (!read_results(known, result, made)) {
      return;
    }
  } catch (const std::exception&) {  // the row looks at elements, or draws
    return;
  }
  if (blind.has_looked() || !fits_targets(known, made, targets) ||
      !read_strides(known, returned == nullptr ? known.all_results() : *returned, outcome)) {
    return;
  }
  std::vector<Tensor> all;
  size_t eager = 0;
  for (const bool later : {false, true}) {
    for (size_t i = 0; i < made.size(); ++i) {
      if (known.results[i].is_given && known.results[i].is_later == later) {
        all.push_back(nb::cast<const Tensor&>(made[i]));
      }
    }
    eager = later ? eager : all.size();
  }
  if (std::optional<Replay> found = Replay::between(stand_ins, all, eager)) {
    known.replay = std::make_shared<const Replay>(*std::move(found));
    known.is_refused = false;
  }
}

}  // namespace tenon::python
