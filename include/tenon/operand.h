// What elementwise functions take.
#pragma once

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/graph.h"

namespace tenon {

/// A Value, or a number that takes its dtype from the Values beside it.
class Operand {
 public:
  Operand(Value value) : content_(std::move(value)) {}
  Operand(double number) : content_(number) {}
  Operand(int number) : content_(static_cast<double>(number)) {}

  const Value* value() const { return std::get_if<Value>(&content_); }
  double number() const { return std::get<double>(content_); }

 private:
  std::variant<Value, double> content_;
};

/// The scalar-table row `function` over the operands, with NumPy broadcasting; an Error when there is no such row.
Value map(std::string_view function, const std::vector<Operand>& operands);

}  // namespace tenon
