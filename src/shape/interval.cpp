#include "shape/interval.h"

#include <algorithm>
#include <limits>

namespace tenon {
namespace {

__extension__ using Wide = __int128;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

/// An end while it is computed: a number of 128 bits or an infinity.
struct End {
  int infinity = 0;  // -1, 0, 1
  Wide value = 0;

  int sign() const { return infinity != 0 ? infinity : (value > 0) - (value < 0); }
  friend bool operator<(const End& a, const End& b) {
    return a.infinity != b.infinity ? a.infinity < b.infinity : a.infinity == 0 && a.value < b.value;
  }
};

End low_of(const Interval& a) { return a.low ? End{0, *a.low} : End{-1, 0}; }
End high_of(const Interval& a) { return a.high ? End{0, *a.high} : End{1, 0}; }

/// Ends outside of 64 bits bound nothing on their own side and everything on the other.
Interval make(const End& low, const End& high) {
  Interval r;
  if (low.infinity >= 0 && (low.infinity > 0 || low.value >= kMin)) {
    r.low = low.infinity > 0 || low.value > kMax ? kMax : static_cast<int64_t>(low.value);
  }
  if (high.infinity <= 0 && (high.infinity < 0 || high.value <= kMax)) {
    r.high = high.infinity < 0 || high.value < kMin ? kMin : static_cast<int64_t>(high.value);
  }
  return r;
}

End times(const End& a, const End& b) {
  if (a.infinity == 0 && b.infinity == 0) {
    return {0, a.value * b.value};  // both within 64 bits
  }
  return {a.sign() * b.sign(), 0};  // zero times an infinite end is zero: the end is a limit, never a value
}

Wide floor_quotient(Wide a, Wide b) {
  const Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/// floor(a / d) for d >= 1.
End quotient(const End& a, const End& d) {
  if (a.infinity != 0) {
    return a;  // also by an unbounded divisor: the other end of the divisor decides
  }
  if (d.infinity != 0) {
    return {0, a.value < 0 ? -1 : 0};
  }
  return {0, floor_quotient(a.value, d.value)};
}

Interval hull_of(std::initializer_list<End> ends) { return make(std::min(ends), std::max(ends)); }

}  // namespace

std::string Interval::to_string() const {
  return "[" + (low ? std::to_string(*low) : "-inf") + ", " + (high ? std::to_string(*high) : "inf") + "]";
}

Interval add(const Interval& a, const Interval& b) {
  const auto plus = [](const End& x, const End& y) {
    return x.infinity != 0 ? x : y.infinity != 0 ? y : End{0, x.value + y.value};
  };
  return make(plus(low_of(a), low_of(b)), plus(high_of(a), high_of(b)));
}

Interval negate(const Interval& a) {
  const auto minus = [](const End& x) { return End{-x.infinity, -x.value}; };
  return make(minus(high_of(a)), minus(low_of(a)));
}

Interval subtract(const Interval& a, const Interval& b) {
  const auto minus = [](const End& x, const End& y) {
    return x.infinity != 0 ? x : y.infinity != 0 ? End{-y.infinity, 0} : End{0, x.value - y.value};
  };
  return make(minus(low_of(a), high_of(b)), minus(high_of(a), low_of(b)));
}

Interval multiply(const Interval& a, const Interval& b) {
  return hull_of({times(low_of(a), low_of(b)), times(low_of(a), high_of(b)), times(high_of(a), low_of(b)),
                  times(high_of(a), high_of(b))});
}

Interval scale(const Interval& a, int64_t by) { return multiply(a, Interval::single(by)); }

Interval power(const Interval& a, uint32_t exponent) {
  Interval magnitude = a;
  const bool even = exponent % 2 == 0;
  if (even) {
    magnitude = max(a, negate(a));
    magnitude.low = std::max(magnitude.low.value_or(0), int64_t{0});
  }
  Interval result = Interval::single(1);
  for (uint32_t k = 0; k < exponent; ++k) {
    result = multiply(result, magnitude);
  }
  // An odd power grows with its base; the repeated product does not know that for bases of both signs.
  if (!even && a.low.value_or(-1) < 0 && a.high.value_or(1) > 0) {
    const Interval low = a.low ? power(Interval::single(*a.low), exponent) : Interval{};
    const Interval high = a.high ? power(Interval::single(*a.high), exponent) : Interval{};
    result = {low.low, high.high};
  }
  return result;
}

Interval floordiv(const Interval& a, const Interval& b) {
  const auto positive = [](const Interval& x, const Interval& d) {
    const End from = low_of(d);
    const End to = high_of(d);
    return hull_of(
        {quotient(low_of(x), from), quotient(low_of(x), to), quotient(high_of(x), from), quotient(high_of(x), to)});
  };
  const Interval above = {std::max(b.low.value_or(1), int64_t{1}), b.high};
  const Interval below = {b.low, std::min(b.high.value_or(-1), int64_t{-1})};
  if (above.empty() || below.empty()) {
    return !above.empty() ? positive(a, above) : !below.empty() ? positive(negate(a), negate(below)) : Interval{};
  }
  return hull(positive(a, above), positive(negate(a), negate(below)));
}

Interval min(const Interval& a, const Interval& b) {
  return make(std::min(low_of(a), low_of(b)), std::min(high_of(a), high_of(b)));
}

Interval max(const Interval& a, const Interval& b) {
  return make(std::max(low_of(a), low_of(b)), std::max(high_of(a), high_of(b)));
}

Interval hull(const Interval& a, const Interval& b) {
  return make(std::min(low_of(a), low_of(b)), std::max(high_of(a), high_of(b)));
}

Interval intersect(const Interval& a, const Interval& b) {
  const Interval both = make(std::max(low_of(a), low_of(b)), std::min(high_of(a), high_of(b)));
  return both.empty() ? a : both;
}

Interval exact_quotients(const Interval& a, int64_t d) {
  End low = low_of(a);
  End high = high_of(a);
  low.value = -floor_quotient(-low.value, d);
  high.value = floor_quotient(high.value, d);
  return make(low, high);
}

Interval only_residue(const Interval& a, int64_t r, int64_t m) {
  const auto residue = [m](Wide x) { return (x % m + m) % m; };
  End low = low_of(a);
  End high = high_of(a);
  low.value += residue(r - low.value);
  high.value -= residue(high.value - r);
  return make(low, high);
}

}  // namespace tenon
