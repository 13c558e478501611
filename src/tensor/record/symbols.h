// Names of axes whose sizes are known: every name that lazy tensors use has one size, for good.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/constraint.h"
#include "tenon/realizations.h"
#include "tenon/shape.h"

namespace tenon::tensors {

/// A line of the user's program: that of the settings of this thread where they have one, else what the front end says,
/// else `where`.
struct UserLine {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;

  auto operator<=>(const UserLine&) const = default;
};
UserLine user_line(const std::source_location& where);
/// What a front end whose users do not write C++ knows of the line that calls on this thread; no file for nothing.
using UserLineSource = UserLine (*)();
void set_user_line_source(UserLineSource source);
/// The settings of this thread.
LazySettings& lazy_settings();

/// The symbol of an axis that is called `base` where it has `size` elements: `batch` for the first size that is asked
/// for, `batch~17` for another. So two batches of different sizes may meet in one graph, and what holds of a graph's
/// sizes is known while it is recorded. Programs are made with the plain names.
Extent symbol(std::string_view base, int64_t size);

struct SymbolInfo {
  std::string base;
  int64_t size = 0;
};
/// Nothing for a name that is no symbol: an axis that data decide.
std::optional<SymbolInfo> symbol_info(std::string_view name);

/// The value of an extent of symbols; nothing where it has a name that is none, or no value.
std::optional<int64_t> size_of(const Extent& extent);
/// Whether a constraint holds at the sizes of its symbols; true where that is not known.
bool holds(const Constraint& constraint);

/// The shape of an array whose axes the user gave: names become symbols, -1 a symbol without a name of its own.
/// Error for sizes that are not the array's.
Shape named_shape(const Array& array, const std::vector<Axis>& axes);
/// ... and where the user gave none: sizes are constants until arrays of another size have come from the same place.
Shape shape_from(const Array& array, const std::source_location& where);
/// A size that a front end was given as a number: a constant until another one has come from the same place, of which
/// this is number `position`. From then on, where `whole` is given and the number has always been as much below its
/// size, that difference: `x[:, :n - 1]`; else a symbol.
Extent size_from(int64_t size, int position, const std::source_location& where,
                 const std::optional<Extent>& whole = {});
/// The shape of elements that were computed for a value of `shape`: names and constants stay, an expression becomes a
/// symbol.
Shape shape_of_result(const Array& array, const Shape& shape);

}  // namespace tenon::tensors
