#include "arguments.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <deque>

#include "interrupt.h"
#include "tenon/operand.h"
#include "tenon/ops.h"
#include "tensor/record/argument.h"
#include "tensor/record/match_sizes.h"
#include "tensor/record/symbols.h"

namespace tenon::python {
namespace {

[[noreturn]] void wrong_type(std::string_view what, nb::handle object) {
  throw nb::type_error(
      fmt::format("{} is wanted, not {}", what, nb::cast<std::string>(nb::repr(object)).substr(0, 200)).c_str());
}

bool is_number(nb::handle object) { return PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()); }

double number_from(nb::handle object) {
  if (PyLong_Check(object.ptr())) {
    int64_t integer = 0;
    if (!nb::try_cast(object, integer)) {
      wrong_type("a number of 64 bits", object);
    }
    return Operand(integer).number();
  }
  const double number = PyFloat_AsDouble(object.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    wrong_type("a number", object);
  }
  return number;
}

int64_t integer_from(nb::handle object) {
  const Extent extent = extent_from(object);
  if (!extent.is_constant()) {
    wrong_type("an integer", object);
  }
  return *extent.constant();
}

nb::sequence list_from(nb::handle object) {
  return nb::isinstance<nb::sequence>(object) ? nb::borrow<nb::sequence>(object)
                                              : nb::borrow<nb::sequence>(nb::make_tuple(nb::borrow(object)));
}

template <class T, class F>
std::vector<T> list_of(nb::handle object, F convert) {
  std::vector<T> list;
  for (nb::handle each : list_from(object)) {
    list.push_back(convert(each));
  }
  return list;
}

bool flag_from(nb::handle object) { return nb::cast<bool>(nb::object(nb::borrow(object))); }

template <class T>
T operand_as(nb::handle object, std::string_view what) {
  if (!nb::isinstance<T>(object)) {
    wrong_type(what, object);
  }
  return nb::cast<T>(object);
}

constexpr std::string_view kTensor = "a tenon.Tensor";
constexpr std::string_view kValue = "a tenon.Value";

/// Hands a builder of graphs its arguments.
class ValueReader : public ArgumentReader {
 public:
  explicit ValueReader(const std::vector<nb::object>& arguments) : arguments_(arguments) {}

  bool given(size_t i) const override { return i < arguments_.size() && arguments_[i].is_valid(); }
  void read(size_t i, Value& to) override { to = operand_as<Value>(arguments_[i], kValue); }
  void read(size_t i, std::vector<Value>& to) override {
    to = list_of<Value>(arguments_[i], [](nb::handle each) { return operand_as<Value>(each, kValue); });
  }
  void read(size_t i, Operand& to) override {
    to = is_number(arguments_[i]) ? Operand(number_from(arguments_[i]))
                                  : Operand(operand_as<Value>(arguments_[i], "a tenon.Value or a number"));
  }
  void read(size_t i, int64_t& to) override { to = integer_from(arguments_[i]); }
  void read(size_t i, double& to) override { to = number_from(arguments_[i]); }
  void read(size_t i, bool& to) override { to = flag_from(arguments_[i]); }
  void read(size_t i, std::string& to) override { to = nb::cast<std::string>(arguments_[i]); }
  void read(size_t i, Dtype& to) override { to = dtype_from(arguments_[i]); }
  void read(size_t i, Extent& to) override { to = extent_from(arguments_[i]); }
  void read(size_t i, Shape& to) override { to = shape_from_python(arguments_[i]); }
  void read(size_t i, std::vector<int64_t>& to) override { to = list_of<int64_t>(arguments_[i], integer_from); }
  void read(size_t i, std::vector<Extent>& to) override { to = list_of<Extent>(arguments_[i], extent_from); }
  void read(size_t i, std::vector<Axis>& to) override { to = axes_from(arguments_[i]); }

 private:
  const std::vector<nb::object>& arguments_;
};

TensorOperand tensor_operand(nb::handle object) {
  if (is_number(object)) {
    return number_from(object);
  }
  return operand_as<Tensor>(object, "a tenon.Tensor or a number");
}

/// A builder's argument over lazy tensors. Texts live in `texts`.
tensors::Argument argument_from(ArgumentType type, nb::handle object, std::deque<std::string>& texts) {
  switch (type) {
    case ArgumentType::value: return operand_as<Tensor>(object, kTensor);
    case ArgumentType::values:
      return list_of<Tensor>(object, [](nb::handle each) { return operand_as<Tensor>(each, kTensor); });
    case ArgumentType::operand: return tensor_operand(object);
    case ArgumentType::integer: return integer_from(object);
    case ArgumentType::number: return number_from(object);
    case ArgumentType::flag: return flag_from(object);
    case ArgumentType::text: return std::string_view(texts.emplace_back(nb::cast<std::string>(object)));
    case ArgumentType::dtype: return dtype_from(object);
    case ArgumentType::extent: return extent_from(object);
    case ArgumentType::shape: return shape_from_python(object);
    case ArgumentType::integers: return list_of<int64_t>(object, integer_from);
    case ArgumentType::extents: return list_of<Extent>(object, extent_from);
    case ArgumentType::axes: return axes_from(object);
  }
  return std::optional<bool>();
}

/// Sizes in numbers; nothing where one is a symbol or open.
std::optional<std::vector<int64_t>> plain_sizes(const std::vector<Axis>& axes) {
  std::vector<int64_t> sizes;
  for (const Axis& axis : axes) {
    if (axis.is_dynamic()) {
      return {};
    }
    sizes.push_back(*axis.extent().constant());
  }
  return sizes;
}

/// The second argument of a reshape or a broadcast of x, with x's symbols for numbers that are their sizes. Sizes that
/// a broadcast brings are symbols once their line of the program has brought others.
tensors::Argument matched_axes(const CatalogEntry& entry, const Tensor& x, const std::vector<Axis>& to) {
  const auto sizes = plain_sizes(to);
  if (!sizes) {
    return to;
  }
  const Shape shape = x.shape();
  if (entry.name == "reshape") {
    return shape.is_dynamic() ? tensors::match_reshape(shape, *sizes) : to;
  }
  std::vector<Axis> matched = tensors::match_broadcast(shape, *sizes);
  const auto added = static_cast<int>(matched.size()) - shape.rank();
  std::optional<LazyCall> place;
  for (int i = 0; i < static_cast<int>(matched.size()); ++i) {
    Axis& axis = matched[static_cast<size_t>(i)];
    if (axis.is_static() && axis.extent() != Extent(1) && (i < added || shape.extent(i - added) == Extent(1))) {
      if (!place) {
        place.emplace();
      }
      axis = Axis(tensors::size_from(*axis.extent().constant(), i, std::source_location()));
    }
  }
  return matched;
}

/// Begin or end, as a number, of a slice of x along an axis: nothing where it is the end of the axis.
tensors::Argument matched_bound(const Tensor& x, nb::handle axis, const Extent& bound, int position) {
  if (!bound.is_constant()) {
    return bound;
  }
  const Extent whole = x.size(static_cast<int>(integer_from(axis)));
  const auto size = tensors::size_of(whole);
  if (position == 3 && size && *bound.constant() >= *size) {
    return std::optional<Extent>();
  }
  if (*bound.constant() <= 0) {
    return bound;
  }
  const LazyCall place;
  return tensors::size_from(*bound.constant(), 100 * position, std::source_location(), whole);
}

/// Whether it holds of an argument, or of an element of one that is a list.
template <class F>
bool any_of(const std::vector<nb::object>& arguments, F predicate) {
  for (const nb::object& argument : arguments) {
    if (!argument.is_valid()) {
      continue;
    }
    if (predicate(nb::handle(argument))) {
      return true;
    }
    if (PyList_Check(argument.ptr()) || PyTuple_Check(argument.ptr())) {
      for (nb::handle each : nb::borrow<nb::sequence>(argument)) {
        if (predicate(each)) {
          return true;
        }
      }
    }
  }
  return false;
}

template <class T>
bool holds(const std::vector<nb::object>& arguments) {
  return any_of(arguments, [](nb::handle each) { return nb::isinstance<T>(each); });
}

/// Whether integers are among the tensors that the builder takes: they may be positions that lie out of range, which
/// is seen when they are computed and told of the line that was recorded.
bool takes_positions(const std::vector<nb::object>& arguments) {
  return any_of(arguments, [](nb::handle each) {
    return nb::isinstance<Tensor>(each) && is_integer(nb::cast<const Tensor&>(each).dtype());
  });
}

template <class T>
nb::object results(const CatalogEntry& entry, std::vector<T> list) {
  if (!entry.gives_list) {
    return nb::cast(std::move(list.front()));
  }
  nb::list all;
  for (T& each : list) {
    all.append(nb::cast(std::move(each)));
  }
  return all;
}

}  // namespace

bool& building_graph() {
  thread_local bool building = false;
  return building;
}

bool is_operand(nb::handle object) {
  return is_number(object) || nb::isinstance<Tensor>(object) || nb::isinstance<Value>(object);
}

std::optional<Dtype> dtype_of_operand(nb::handle object) {
  if (nb::isinstance<Tensor>(object)) {
    return nb::cast<Tensor>(object).dtype();
  }
  if (nb::isinstance<Value>(object)) {
    return nb::cast<Value>(object).dtype();
  }
  return {};
}

nb::object call_row(const ScalarFn& row, const std::vector<nb::object>& arguments) {
  const bool values = holds<Value>(arguments);
  if (row.result == ResultRule::given) {
    const Dtype dtype = dtype_from(arguments[1]);
    if (values) {
      return nb::cast(cast(nb::cast<Value>(arguments[0]), dtype));
    }
    return nb::cast(operand_as<Tensor>(arguments[0], kTensor).to(dtype));
  }
  if (values) {
    std::vector<Operand> operands;
    for (const nb::object& each : arguments) {
      operands.push_back(is_number(each) ? Operand(number_from(each))
                                         : Operand(operand_as<Value>(each, "a tenon.Value or a number")));
    }
    return nb::cast(map(row.name, operands));
  }
  std::vector<TensorOperand> operands;
  bool any_tensor = false;
  for (const nb::object& each : arguments) {
    operands.push_back(tensor_operand(each));
    any_tensor |= operands.back().tensor() != nullptr;
  }
  if (!any_tensor) {
    throw nb::type_error(fmt::format("{} needs a tensor among its operands", row.name).c_str());
  }
  return nb::cast(map_row(row, operands));
}

nb::object call_builder(const CatalogEntry& entry, const std::vector<nb::object>& arguments) {
  if (holds<Value>(arguments) || (building_graph() && !holds<Tensor>(arguments))) {
    ValueReader reader(arguments);
    return results(entry, entry.build(entry, reader));
  }
  std::optional<Place> line;
  if (!entry.is_view && takes_positions(arguments)) {
    line.emplace(LazyCall::line());
  }
  std::deque<std::string> texts;
  std::vector<tensors::Argument> converted;
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    const nb::object given = i < arguments.size() ? arguments[i] : nb::object();
    if (!given.is_valid()) {
      converted.emplace_back(std::optional<bool>());
    } else if (i == 1 && (entry.name == "reshape" || entry.name == "broadcast_to")) {
      converted.push_back(matched_axes(entry, nb::cast<Tensor>(arguments[0]), axes_from(given)));
    } else if ((i == 2 || i == 3) && entry.name == "slice_axis") {
      converted.push_back(
          matched_bound(nb::cast<Tensor>(arguments[0]), arguments[1], extent_from(given), static_cast<int>(i)));
    } else {
      converted.push_back(argument_from(entry.parameters[i].type, given, texts));
    }
  }
  return results(entry, tensors::build(entry.name, converted));
}

NamedOperation::NamedOperation(std::string_view name) : row_(find_scalar_fn(name)), builder_(find_builder(name)) {
  if (row_ == nullptr && builder_ == nullptr) {
    throw nb::key_error(std::string(name).c_str());
  }
}

Tensor NamedOperation::record(std::vector<TensorOperand> operands) const {
  if (row_ != nullptr) {
    return map_row(*row_, operands);
  }
  std::vector<tensors::Argument> arguments(builder_->parameters.size(), std::optional<bool>());
  size_t next = 0;
  for (size_t i = 0; i < arguments.size() && next < operands.size(); ++i) {
    const ArgumentType type = builder_->parameters[i].type;
    if (type == ArgumentType::operand) {
      arguments[i] = operands[next++];
    } else if (type == ArgumentType::value) {
      const TensorOperand& operand = operands[next++];
      if (operand.tensor() == nullptr) {
        wrong_type(kTensor, nb::float_(operand.number()));
      }
      arguments[i] = *operand.tensor();
    }
  }
  return tensors::build(builder_->name, arguments).front();
}

size_t NamedOperation::arity() const {
  if (row_ != nullptr) {
    return static_cast<size_t>(row_->arity);
  }
  return static_cast<size_t>(std::ranges::count_if(
      builder_->parameters, [](const BuilderParameter& parameter) { return is_tensor_argument(parameter.type); }));
}

}  // namespace tenon::python
