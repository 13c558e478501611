// Fields of kinds as text: one overload for each type of field, none for a kind.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "ir/kinds.h"
#include "tenon/text.h"
#include "text/graph_table.h"

namespace tenon::text {

/// Appends to `out`.
struct FieldPrinter {
  std::string& out;
  const PrintOptions& options;
  const GraphLabels& labels;
};

template <std::integral T>
void print_field(FieldPrinter& printer, T number) {
  if constexpr (std::is_same_v<T, bool>) {
    printer.out += number ? "true" : "false";
  } else {
    printer.out += std::to_string(number);
  }
}

void print_field(FieldPrinter& printer, Dtype dtype);
void print_field(FieldPrinter& printer, const std::string& text);
void print_field(FieldPrinter& printer, const Extent& extent);
void print_field(FieldPrinter& printer, const Axis& axis);
void print_field(FieldPrinter& printer, const Shape& shape);
void print_field(FieldPrinter& printer, const Array& array);
void print_field(FieldPrinter& printer, const Graph& graph);
void print_field(FieldPrinter& printer, const ScalarFn* fn);
void print_field(FieldPrinter& printer, const View& view);

template <class Enum>
  requires std::is_enum_v<Enum>
void print_field(FieldPrinter& printer, Enum value) {
  printer.out += spellings(value)[static_cast<size_t>(value)];
}

template <class T>
void print_field(FieldPrinter& printer, const std::vector<T>& list) {
  printer.out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    printer.out += i == 0 ? "" : ", ";
    print_field(printer, list[i]);
  }
  printer.out += ']';
}

/// `op=max, axes=[1]`: the fields of a kind. A kind of more than two leaves out those that have their default, but for
/// numbers and words, without which it would not be clear. Where no operand can stand before it, the first field goes
/// without its name. `first` is false when a comma is due.
void print_fields(FieldPrinter& printer, const Op& op, bool first);

}  // namespace tenon::text
