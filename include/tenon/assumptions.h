// What is known of axis names, and what follows from it for extents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "tenon/extent.h"
#include "tenon/interval.h"

namespace tenon {

/// Facts about names. Every name is >= 0 unless told otherwise. Facts add up: ranges intersect, multiples combine.
/// A contradiction (no value is left for a name) is an Error that names the axis, and the facts stay as they were.
class Assumptions {
 public:
  /// A negative value, told before any other range of the name, lifts the default 0.
  void at_least(std::string name, int64_t value);
  void at_most(std::string name, int64_t value);
  /// Told before any other range of the name: it may be any integer.
  void unbounded_below(std::string name);
  /// The name is a multiple of `by`; Error for 0.
  void divisible(std::string name, int64_t by);

  Interval range_of(std::string_view name) const;
  int64_t multiple_of(std::string_view name) const;  ///< the largest known divisor, at least 1

  /// An interval that holds every value of the extent; its ends need not be reached.
  Interval range(const Extent& extent) const;
  /// Proven to be a multiple of k at every binding.
  bool is_multiple(const Extent& extent, int64_t k) const;

  struct Fact {
    Interval range{0, std::nullopt};
    int64_t multiple = 1;
    bool range_told = false;

    friend bool operator==(const Fact&, const Fact&) = default;
  };
  const std::map<std::string, Fact, std::less<>>& facts() const { return facts_; }

  friend bool operator==(const Assumptions&, const Assumptions&) = default;

 private:
  void tell(std::string name, Fact fact);
  Fact known(std::string_view name) const;

  std::map<std::string, Fact, std::less<>> facts_;
};

/// `equal` and `different` are proofs: the same value, or not the same value, at every binding that the assumptions
/// admit (and that divides by no zero). Neither is ever wrong; `unknown` is left to a check when bound.
enum class Comparison { equal, different, unknown };

Comparison compare(const Extent& a, const Extent& b, const Assumptions& known = {});

/// Proven: a >= b at every binding.
bool proves_at_least(const Extent& a, const Extent& b, const Assumptions& known = {});

/// An extent that is equal wherever the assumptions hold and that is shorter where they allow it: max(b, 0) is b.
Extent simplify(const Extent& extent, const Assumptions& known = {});

}  // namespace tenon
