// From Python's arguments to a row of the scalar table or a builder, over lazy tensors or over values of a graph.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bind.h"
#include "ops/catalog/catalog.h"
#include "ops/scalar/scalar_table.h"
#include "tenon/operand.h"

namespace tenon::python {

inline bool is_tensor_argument(ArgumentType type) {
  return type == ArgumentType::value || type == ArgumentType::values || type == ArgumentType::operand;
}

/// Whether builders without operands (full, iota) give values of a graph on this thread, not lazy tensors.
bool& building_graph();

/// A tensor, a value of a graph, or a number.
bool is_operand(nb::handle object);
/// That of a tensor or a value; nothing for a number.
std::optional<Dtype> dtype_of_operand(nb::handle object);

/// Whether a number beside tensors is a constant wherever it stands: small whole ones, and those that are not finite.
bool stays_constant(double number);
/// While it lives, this thread records the row of an operator of PyTorch's, which was given these numbers. As long as
/// none of them is another than before on this line, all numbers of the row follow from them and from sizes, and are
/// constants, too.
class RowScope {
 public:
  struct State {
    std::string name;
    bool has_given_numbers = false;  // but those that stay constants
    bool have_changed = false;
    size_t numbers = 0;  // that were looked at so far
  };

  RowScope(std::string name, std::vector<double> given);
  ~RowScope();
  RowScope(const RowScope&) = delete;
  RowScope& operator=(const RowScope&) = delete;

 private:
  std::optional<State> outer_;
};

/// The row over lazy tensors and numbers, of which one is a tensor. A number that its line of the program has changed
/// becomes data.
Tensor map_row(const ScalarFn& row, std::vector<TensorOperand>& operands);

/// The row over its operands, the last argument of `cast` being a dtype. Lazy tensors give a tensor, values a value;
/// both at once are a TypeError.
nb::object call_row(const ScalarFn& row, const std::vector<nb::object>& arguments);

/// The builder with an argument, or no object, for each parameter. One result, or a list where it gives one.
/// Sizes that are numbers where a lazy tensor has a symbol of that size are that symbol.
nb::object call_builder(const CatalogEntry& entry, const std::vector<nb::object>& arguments);

/// An operation of `ops` by its name.
class NamedOperation {
 public:
  explicit NamedOperation(std::string_view name);

  /// How many tensors it takes.
  size_t arity() const;
  nb::object call(const std::vector<nb::object>& arguments) const {
    return row_ != nullptr ? call_row(*row_, arguments) : call_builder(*builder_, arguments);
  }
  /// The operation over as many lazy tensors and numbers as arity() says, of which one is a tensor, in C++ alone.
  Tensor record(std::vector<TensorOperand> operands) const;

 private:
  const ScalarFn* row_ = nullptr;          // either,
  const CatalogEntry* builder_ = nullptr;  // or
};

}  // namespace tenon::python
