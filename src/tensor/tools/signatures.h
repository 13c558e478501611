// How an entry of the catalog, or a row of the scalar table, is written as a C++ function of tensors.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "ops/catalog/catalog.h"
#include "ops/scalar/scalar_table.h"

namespace tenon::tensors {

/// A parameter as C++ declares it.
struct CppParameter {
  std::string type;
  std::string name;
  std::string value;  // the default; empty: it must be given
};

inline bool is_tensor(ArgumentType type) {
  return type == ArgumentType::value || type == ArgumentType::values || type == ArgumentType::operand;
}

inline std::string plain_type(ArgumentType type) {
  switch (type) {
    case ArgumentType::value: return "Tensor";
    case ArgumentType::values: return "std::vector<Tensor>";
    case ArgumentType::operand: return "TensorOperand";
    case ArgumentType::integer: return "int64_t";
    case ArgumentType::number: return "double";
    case ArgumentType::flag: return "bool";
    case ArgumentType::text: return "std::string_view";
    case ArgumentType::dtype: return "Dtype";
    case ArgumentType::extent: return "Extent";
    case ArgumentType::shape: return "Shape";
    case ArgumentType::integers: return "std::vector<int64_t>";
    case ArgumentType::extents: return "std::vector<Extent>";
    case ArgumentType::axes: return "std::vector<Axis>";
  }
  return {};
}

inline CppParameter cpp_parameter(const BuilderParameter& parameter) {
  const std::string plain = plain_type(parameter.type);
  const bool optional =
      parameter.default_text == "none" && !is_tensor(parameter.type) && parameter.type != ArgumentType::text;
  const bool by_value =
      plain == "int64_t" || plain == "double" || plain == "bool" || plain == "Dtype" || plain == "std::string_view";
  CppParameter result{.type = optional   ? fmt::format("std::optional<{}>", plain)
                              : by_value ? plain
                                         : fmt::format("const {}&", plain),
                      .name = std::string(parameter.name),
                      .value = std::string(parameter.default_text)};
  if (result.value == "none" || result.value == "[]") {
    result.value = "{}";
  } else if (!result.value.empty() && parameter.type == ArgumentType::text) {
    result.value = fmt::format("\"{}\"", result.value);
  } else if (!result.value.empty() && parameter.type == ArgumentType::dtype) {
    result.value = fmt::format("Dtype::{}", result.value);
  }
  return result;
}

/// A function: what it is called, takes, gives and passes on.
struct CppFunction {
  std::string name;
  std::string doc;
  std::string result;  // "Tensor" or "std::vector<Tensor>"
  std::vector<CppParameter> parameters = {};
  bool takes_tensor = false;     // some parameter is one
  bool is_method = false;        // the first is
  bool may_be_in_place = false;  // a row of the scalar table whose result has its operands' dtype
  bool is_row = false;

  /// What its `_out` form writes to.
  std::string_view out_type() const { return result == "Tensor" ? "Tensor" : "const std::vector<Tensor>&"; }
  /// "const Tensor& x, int64_t axis = -1", from parameter `first` on.
  std::string declared(size_t first, bool defaults) const {
    std::vector<std::string> parts;
    size_t required = 0;  // a default is good for nothing before a parameter without one
    for (size_t i = 0; i < parameters.size(); ++i) {
      required = parameters[i].value.empty() ? i + 1 : required;
    }
    for (size_t i = first; i < parameters.size(); ++i) {
      const auto& [type, parameter, value] = parameters[i];
      parts.push_back(defaults && i >= required ? fmt::format("{} {} = {}", type, parameter, value)
                                                : fmt::format("{} {}", type, parameter));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  std::string passed(size_t first) const {
    std::vector<std::string> parts;
    for (size_t i = first; i < parameters.size(); ++i) {
      parts.push_back(parameters[i].name);
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }
};

inline CppFunction function_of(const ScalarFn& row) {
  CppFunction function{.name = std::string(row.name),
                       .doc = std::string(row.doc),
                       .result = "Tensor",
                       .takes_tensor = true,
                       .is_method = true,
                       .may_be_in_place = row.result == ResultRule::same,
                       .is_row = true};
  for (size_t i = 0; i < static_cast<size_t>(row.arity); ++i) {
    function.parameters.push_back({"const TensorOperand&", std::string(row.operands[i]), ""});
  }
  return function;
}

inline CppFunction function_of(const CatalogEntry& entry) {
  CppFunction function{.name = std::string(entry.name),
                       .doc = std::string(entry.doc),
                       .result = entry.gives_list ? "std::vector<Tensor>" : "Tensor"};
  for (const BuilderParameter& parameter : entry.parameters) {
    function.parameters.push_back(cpp_parameter(parameter));
    function.takes_tensor |= is_tensor(parameter.type);
  }
  function.is_method = !entry.parameters.empty() && entry.parameters[0].type == ArgumentType::value;
  return function;
}

/// All of them but those that are written by hand. cast is Tensor::to().
inline std::vector<CppFunction> tensor_functions() {
  std::vector<CppFunction> all;
  for (const ScalarFn* row : scalar_table()) {
    if (row->result != ResultRule::given) {
      all.push_back(function_of(*row));
    }
  }
  for (const CatalogEntry& entry : catalog()) {
    if (!entry.by_hand) {
      all.push_back(function_of(entry));
    }
  }
  return all;
}

}  // namespace tenon::tensors
