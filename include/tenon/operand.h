// What elementwise functions take.
#pragma once

#include <concepts>
#include <cstdint>
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
  /// An Error for an integer that no double holds.
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  Operand(T number) : content_(exact_number(static_cast<int64_t>(number), std::in_range<int64_t>(number))) {}

  const Value* value() const { return std::get_if<Value>(&content_); }
  double number() const { return std::get<double>(content_); }

 private:
  static double exact_number(int64_t number, bool in_range);

  std::variant<Value, double> content_;
};

/// The scalar-table row `function` over the operands, with NumPy broadcasting; an Error when there is no such row.
Value map(std::string_view function, const std::vector<Operand>& operands);

}  // namespace tenon
