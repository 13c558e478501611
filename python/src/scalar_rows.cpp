// Rows of the scalar table over lazy tensors and numbers.
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arguments.h"
#include "interrupt.h"
#include "tensor/record/argument.h"
#include "tensor/record/symbols.h"

namespace tenon::python {
namespace {

/// The operator of PyTorch's whose row records on this thread; nothing outside of rows.
std::optional<RowScope::State>& open_row() {
  thread_local std::optional<RowScope::State> state;
  return state;
}

/// Numbers by the line of the user's program that gives them to a row: whether it has given others before. A line that
/// calls a library, such as a step of an optimiser, gives numbers on several lines of that.
bool have_changed(std::string_view row, size_t position, std::vector<double> numbers) {
  using Key = std::tuple<tensors::UserLine, std::pair<std::string, uint32_t>, std::string, size_t>;
  struct Known {
    std::vector<double> first;
    bool changed = false;
  };
  static auto& all = *new std::map<Key, Known>;
  static auto& mutex = *new std::mutex;
  const LazyCall place;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] =
      all.try_emplace({tensors::user_line({}), LazyCall::calling_place(), std::string(row), position});
  Known& known = at->second;
  if (is_new) {
    known.first = std::move(numbers);
  } else {
    known.changed |= known.first != numbers;
  }
  return known.changed;
}

/// Whether a number is data. An operator of PyTorch's may be several rows of ours: there numbers are told apart by
/// their order.
bool has_changed(std::string_view row, size_t position, double number) {
  if (std::optional<RowScope::State>& open = open_row()) {
    if (!open->has_given_numbers) {
      return false;
    }
    // What came before is remembered, so that a first change of what is given does not have to be waited for twice.
    return have_changed(open->name, open->numbers++, {number}) && open->have_changed;
  }
  return have_changed(row, position, {number});
}

/// A number that changes from step to step (a learning rate, a count of elements) is data, so that one program serves
/// all; others, and small whole ones, are constants that passes may use.
void spread_changing_numbers(const ScalarFn& row, std::vector<TensorOperand>& operands) {
  std::optional<Dtype> dtype;
  for (const TensorOperand& operand : operands) {
    dtype = operand.tensor() != nullptr ? operand.tensor()->dtype() : dtype;
  }
  if (!dtype || !is_float(*dtype) || row.name == "pow" || row.name == "select") {
    return;
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].tensor() != nullptr) {
      continue;
    }
    const double number = operands[i].number();
    if (!stays_constant(number) && has_changed(row.name, i, number)) {
      operands[i] = Tensor::number(number, *dtype);
    }
  }
}

}  // namespace

RowScope::RowScope(std::string name, std::vector<double> given) {
  constexpr size_t kGiven = std::numeric_limits<size_t>::max();  // a position that no number has
  State state{.name = std::move(name), .has_given_numbers = !given.empty()};
  state.have_changed = state.has_given_numbers && have_changed(state.name, kGiven, std::move(given));
  outer_ = std::exchange(open_row(), std::move(state));
}
RowScope::~RowScope() { open_row() = std::move(outer_); }

bool stays_constant(double number) {
  constexpr double kSmall = 16;
  return !std::isfinite(number) || (number == std::trunc(number) && std::abs(number) <= kSmall);
}

Tensor map_row(const ScalarFn& row, std::vector<TensorOperand>& operands) {
  spread_changing_numbers(row, operands);
  switch (row.arity) {
    case 1: return tensors::map(row.name, {operands[0]});
    case 2: return tensors::map(row.name, {operands[0], operands[1]});
    default: return tensors::map(row.name, {operands[0], operands[1], operands[2]});
  }
}

}  // namespace tenon::python
