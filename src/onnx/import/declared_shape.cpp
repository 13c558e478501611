#include "onnx/import/declared_shape.h"

#include <map>
#include <optional>

#include "base/fail.h"
#include "onnx/tensor_data.h"
#include "shape/extent_names.h"
#include "shape/not_an_extent.h"
#include "shape/not_representable.h"

namespace tenon::importer {
namespace {

constexpr int kMostAxes = 32;

/// The text as an expression whose names follow from sizes: all are known but for one, in which it is linear. `a-b` of
/// unknown names is more likely a name with a dash.
std::optional<Extent> solvable_expression(const std::string& text, const std::set<std::string>& names) {
  Extent extent;
  try {
    extent = Extent::parse(text);
    std::map<std::string, Extent, std::less<>> known;
    std::vector<std::string> unknown;
    for (const std::string& name : extent.names()) {
      if (names.contains(name)) {
        known.emplace(name, 2);
      } else {
        unknown.push_back(name);
      }
    }
    const bool solvable =
        unknown.empty() ? !known.empty() : unknown.size() == 1 && extent.substitute(known).linear_in(unknown[0]);
    return solvable ? std::optional(extent) : std::nullopt;
  } catch (const NotAnExtent&) {  // it is something else
    return {};
  } catch (const NotRepresentable&) {
    return {};
  }
}

Axis to_axis(const proto::TensorShapeProto::Dimension& dimension, const std::set<std::string>& names) {
  if (dimension.has_dim_value() && dimension.dim_value() >= 0) {
    return dimension.dim_value();
  }
  const std::string& text = dimension.dim_param();
  if (text.empty()) {
    return Axis::anonymous();
  }
  return Axis(solvable_expression(text, names).value_or(Extent::name(text)));
}

}  // namespace

std::set<std::string> plain_names(const proto::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) {
    for (const auto& dimension : input.type().tensor_type().shape().dim()) {
      if (!dimension.dim_param().empty() && algebra::quoted_name(dimension.dim_param()) == dimension.dim_param()) {
        names.insert(dimension.dim_param());
      }
    }
  }
  return names;
}

Shape declared_shape(const proto::ValueInfoProto& input, const std::set<std::string>& names) {
  if (!input.type().has_tensor_type()) {
    fail("input `{}` is not a tensor, which is not supported", input.name());
  }
  const auto& type = input.type().tensor_type();
  const Dtype dtype = to_dtype(type.elem_type());
  if (!type.has_shape()) {
    fail("input `{}` has no shape in the file; give it one in OnnxOptions::shapes", input.name());
  }
  if (type.shape().dim_size() > kMostAxes) {
    fail("input `{}` has {} axes, more than {}", input.name(), type.shape().dim_size(), kMostAxes);
  }
  std::vector<Axis> axes;
  for (const auto& dimension : type.shape().dim()) {
    axes.push_back(to_axis(dimension, names));
  }
  return {dtype, std::move(axes)};
}

Array as_declared(const Array& given, const Shape& declared, const std::string& name) {
  const auto refuse = [&] {
    fail("the value of input `{}` is {}, must be {}", name,
         Shape(given.dtype(), {given.dims().begin(), given.dims().end()}).to_string(), declared.to_string());
  };
  Array value = given;
  if (given.dtype() != declared.dtype()) {
    if (given.dtype() != Dtype::i64 || given.size() != 1) {
      refuse();
    }
    value = given.cast(declared.dtype());
  }
  if (std::ssize(given.dims()) != declared.rank()) {
    if (given.size() != 1 || !given.dims().empty()) {
      refuse();
    }
    value = value.reshaped(std::vector<int64_t>(static_cast<size_t>(declared.rank()), 1));
  }
  for (int i = 0; i < declared.rank(); ++i) {
    if (const auto size = declared.axis(i).extent().constant(); size && *size != value.dims()[static_cast<size_t>(i)]) {
      refuse();
    }
  }
  return value;
}

}  // namespace tenon::importer
