// Symbolic sizes: exact integers over the names of axes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

namespace algebra {
struct Access;
struct Polynomial;
}  // namespace algebra

/// An exact symbolic integer over axis names under `+ - * floordiv ceildiv mod min max`, always in canonical form.
///
/// The canonical form is a sum of products and uses only facts that hold for all integers, so two extents that are
/// equal here are equal at every binding. (Division assumes that the divisor is not zero: `(b*s) floordiv b` is `s`.)
/// What also needs facts about names (they are >= 0, say) is in tenon/assumptions.h.
///
/// An immutable value, cheap to copy and safe to share between threads; constants own no memory.
/// Every operation throws Error when a coefficient leaves 64 bits or when the form grows beyond its limits
/// (4096 terms, products of 64 factors, 100 nested divisions, minima and maxima).
///
/// Text: `3*seq+1`, `(seq+7) floordiv 8`, `min(b, s)`, `b mod 4`; a name that is no identifier stands in backticks.
/// `floordiv`, `ceildiv` and `mod` bind like `*`; all are left-associative; unary minus binds tighter.
class Extent {
 public:
  Extent() = default;                          // 0
  Extent(int64_t value) : value_(value) {}     // NOLINT(google-explicit-constructor): `seq + 1` must read like that
  static Extent name(std::string_view axis);   ///< the size of a named axis; Error for an empty name
  static Extent parse(std::string_view text);  ///< the inverse of to_string(); Error with text and column

  bool is_constant() const { return polynomial_ == nullptr; }
  std::optional<int64_t> constant() const;
  std::optional<std::string> as_name() const;  ///< when it is one bare name
  std::vector<std::string> names() const;      ///< free names, sorted, unique

  /// Replace names by extents, all at once: {a: b, b: a} swaps.
  Extent substitute(const std::map<std::string, Extent, std::less<>>& by) const;

  /// The value at a binding; `lookup` gives nothing for an unbound name. Error, naming the expression, for an unbound
  /// name, a division by zero, and a value or an intermediate value that leaves 64 bits.
  int64_t evaluate(const std::function<std::optional<int64_t>(std::string_view)>& lookup) const;

  /// {c0, c1} when the extent is exactly c0 + c1*axis with c1 != 0.
  std::optional<std::pair<int64_t, int64_t>> linear_in(std::string_view axis) const;

  std::string to_string() const;
  uint64_t hash() const;

  friend bool operator==(const Extent& a, const Extent& b);                   // same canonical form
  friend std::strong_ordering operator<=>(const Extent& a, const Extent& b);  // total and stable, for sorting

  Extent& operator+=(const Extent& other);
  Extent& operator-=(const Extent& other);
  Extent& operator*=(const Extent& other);
  friend Extent operator+(const Extent& a, const Extent& b);
  friend Extent operator-(const Extent& a, const Extent& b);
  friend Extent operator*(const Extent& a, const Extent& b);
  friend Extent operator-(const Extent& a);

 private:
  friend struct algebra::Access;

  // The value when polynomial_ is null, else unused and 0 (which also makes a moved-from extent a plain 0).
  int64_t value_ = 0;
  std::shared_ptr<const algebra::Polynomial> polynomial_;
};

/// The quotient rounded toward minus infinity. Error for a divisor that is the constant 0.
Extent floordiv(const Extent& a, const Extent& b);
/// The quotient rounded toward plus infinity.
Extent ceildiv(const Extent& a, const Extent& b);
/// a - b * floordiv(a, b): has the sign of b.
Extent mod(const Extent& a, const Extent& b);
Extent min(const Extent& a, const Extent& b);
Extent max(const Extent& a, const Extent& b);

/// The quotient when `a` is a multiple of `b` as polynomials, else nothing: (8*b*s) / (4*s) is 2*b.
std::optional<Extent> divide_exactly(const Extent& a, const Extent& b);

}  // namespace tenon

template <>
struct std::hash<tenon::Extent> {
  size_t operator()(const tenon::Extent& extent) const noexcept { return static_cast<size_t>(extent.hash()); }
};
