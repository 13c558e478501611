#include "onnx/import/node_call.h"

#include <limits>

#include "base/fail.h"
#include "base/refused.h"
#include "onnx/import/importer.h"
#include "onnx/tensor_data.h"

namespace tenon::importer {

using proto::AttributeProto;

const Item& NodeCall::item(size_t i) const {
  if (!has(i)) {
    refuse("input {} is missing", i);
  }
  return operands_[i];
}

const Value& NodeCall::x(size_t i) const {
  if (!item(i).value) {
    refuse("input {} is a sequence, must be a tensor", i);
  }
  return operands_[i].value;
}

const Items& NodeCall::sequence(size_t i) const {
  if (!item(i).sequence) {
    refuse("input {} is a tensor, must be a sequence", i);
  }
  return *operands_[i].sequence;
}

std::vector<Value> NodeCall::tensors(size_t first) const {
  std::vector<Value> result;
  for (size_t i = first; i < count(); ++i) {
    result.push_back(x(i));
  }
  return result;
}

void NodeCall::fail_unknown(const Value& value, std::string_view what) const {
  const std::optional<std::string> input = input_behind(value);
  if (input && importer_.is_graph_input(*input)) {
    const std::string message =
        fmt::format("{} depends on the value of input `{}`, which must be given at import", what, *input);
    throw OnnxValueNeeded(*input, message);
  }
  refuse("{} depends on a value that is computed when the model runs", what);
}

std::optional<std::vector<Extent>> NodeCall::known_extents(const Value& value) const {
  return importer_.known().extents(value);
}

std::optional<Array> NodeCall::known_array(const Value& value) const { return importer_.known().array(value); }

void NodeCall::require(Constraint relation, std::string_view what) const {
  if (decide(relation) != Verdict::holds) {
    relation.needed_by = what;
    relation.place = node_.name();
    importer_.add_relation(std::move(relation));
  }
}

void NodeCall::require_equal(const Extent& a, const Extent& b) const {
  require({.kind = Constraint::Kind::equal, .lhs = a, .rhs = b}, type());
}

void NodeCall::require_at_least(const Extent& a, const Extent& b, std::string_view what) const {
  require({.kind = Constraint::Kind::at_least, .lhs = a, .rhs = b}, what);
}

void NodeCall::require_size(const Value& parameter, int axis, const Extent& wanted, std::string_view name) const {
  if (proves_at_least(parameter.extent(axis), wanted + 1) || proves_at_least(wanted, parameter.extent(axis) + 1)) {
    refuse("{} is {}, must have {} elements along axis {}", name, parameter.shape().to_string(), wanted.to_string(),
           axis < 0 ? parameter.rank() + axis : axis);
  }
  require_equal(parameter.extent(axis), wanted);
}

std::vector<Extent> NodeCall::extents(size_t i) const {
  std::optional<std::vector<Extent>> known = known_extents(x(i));
  if (!known) {
    fail_unknown(x(i), fmt::format("input {}", i));
  }
  return *std::move(known);
}

Extent NodeCall::extent(size_t i) const {
  const std::vector<Extent> list = extents(i);
  if (list.size() != 1) {
    refuse("input {} has {} elements, must have one", i, list.size());
  }
  return list[0];
}

std::vector<int64_t> NodeCall::integers(size_t i) const {
  std::vector<int64_t> numbers;
  for (const Extent& extent : extents(i)) {
    const std::optional<int64_t> number = extent.constant();
    if (!number && input_behind(x(i))) {
      fail_unknown(x(i), fmt::format("input {}", i));
    }
    if (!number) {
      refuse("input {} is `{}`, must be a number that is known at import", i, extent.to_string());
    }
    numbers.push_back(*number);
  }
  return numbers;
}

int64_t NodeCall::integer(size_t i) const {
  const std::vector<int64_t> list = integers(i);
  if (list.size() != 1) {
    refuse("input {} has {} elements, must have one", i, list.size());
  }
  return list[0];
}

Array NodeCall::array(size_t i) const {
  std::optional<Array> known = known_array(x(i));
  if (!known) {
    fail_unknown(x(i), fmt::format("input {}", i));
  }
  return *std::move(known);
}

double NodeCall::number(size_t i) const {
  const Array value = array(i);
  if (value.size() != 1) {
    refuse("input {} has {} elements, must have one", i, value.size());
  }
  return value.at(0);
}

const AttributeProto* NodeCall::find(std::string_view name) const {
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) {
      return &attribute;
    }
  }
  return nullptr;
}

const AttributeProto* NodeCall::find(std::string_view name, AttributeProto::AttributeType type) const {
  const AttributeProto* attribute = find(name);
  // IR version 1 did not write types.
  if (attribute != nullptr && attribute->type() != type && attribute->type() != AttributeProto::UNDEFINED) {
    refuse("attribute `{}` is {}, must be {}", name, AttributeProto::AttributeType_Name(attribute->type()),
           AttributeProto::AttributeType_Name(type));
  }
  return attribute;
}

int64_t NodeCall::attribute(std::string_view name) const {
  if (!has_attribute(name)) {
    refuse("attribute `{}` is missing", name);
  }
  return find(name, AttributeProto::INT)->i();
}

int64_t NodeCall::attribute(std::string_view name, int64_t otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::INT);
  return attribute == nullptr ? otherwise : attribute->i();
}

int NodeCall::axis(std::string_view name, int otherwise) const {
  const int64_t number = attribute(name, otherwise);
  if (!std::in_range<int>(number)) {
    refuse("attribute `{}` is {}, which is no axis", name, number);
  }
  return static_cast<int>(number);
}

int64_t NodeCall::count_attribute(std::string_view name, int64_t most) const {
  const int64_t number = attribute(name);
  if (number < 1 || number > most) {
    refuse("attribute `{}` is {}, must be from 1 to {}", name, number, most);
  }
  return number;
}

double NodeCall::number_attribute(std::string_view name, double otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOAT);
  return attribute == nullptr ? otherwise : static_cast<double>(attribute->f());
}

std::string NodeCall::text_attribute(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRING);
  return attribute == nullptr ? std::string(otherwise) : attribute->s();
}

std::vector<int64_t> NodeCall::list_attribute(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::INTS);
  return attribute == nullptr ? std::vector<int64_t>()
                              : std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::vector<double> NodeCall::numbers_attribute(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOATS);
  return attribute == nullptr ? std::vector<double>()
                              : std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}

std::vector<std::string> NodeCall::texts_attribute(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRINGS);
  return attribute == nullptr ? std::vector<std::string>()
                              : std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

Array NodeCall::array_attribute(std::string_view name, Format* format) const {
  const AttributeProto* attribute = find(name, AttributeProto::TENSOR);
  if (attribute == nullptr) {
    refuse("attribute `{}` is missing", name);
  }
  if (format != nullptr) {
    *format = format_of(attribute->t().data_type());
  }
  return to_array(attribute->t(), importer_.files());
}

Format NodeCall::format_attribute(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::INT);
  return attribute == nullptr ? Format::plain : format_of(attribute->i());
}

Dtype NodeCall::dtype_attribute(std::string_view name, Dtype otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::INT);
  if (attribute == nullptr) {
    return otherwise;
  }
  const int64_t number = attribute->i();
  return to_dtype(std::in_range<int>(number) ? static_cast<int>(number) : -1);
}

const proto::GraphProto& NodeCall::graph_attribute(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::GRAPH);
  if (attribute == nullptr) {
    refuse("attribute `{}` is missing", name);
  }
  return attribute->g();
}

bool NodeCall::wants(size_t result) const {
  return result < result_count() && !node_.output(static_cast<int>(result)).empty();
}

void require_rank(const Value& x, int least, int most, std::string_view what) {
  if (x.rank() >= least && x.rank() <= most) {
    return;
  }
  const std::string wanted = least == most       ? fmt::format("{}", least)
                             : most >= kMostRank ? fmt::format("{} or more", least)
                                                 : fmt::format("{} to {}", least, most);
  refuse("{} has {} axes, must have {}: {}", what, x.rank(), wanted, x.shape().to_string());
}

Axes all_axes(const Value& x) {
  Axes axes;
  for (int i = 0; i < x.rank(); ++i) {
    axes.push_back(i);
  }
  return axes;
}

Axes to_axes(const std::vector<int64_t>& numbers) {
  Axes axes;
  for (const int64_t number : numbers) {
    if (!std::in_range<int>(number)) {
      refuse("{} is no axis number", number);
    }
    axes.push_back(static_cast<int>(number));
  }
  return axes;
}

std::vector<Axis> to_shape_axes(const std::vector<Extent>& extents) { return {extents.begin(), extents.end()}; }

}  // namespace tenon::importer
