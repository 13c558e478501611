// Elementwise steps of random graphs.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "ops/scalar/scalar_table.h"
#include "support/graph_maker.h"

namespace tenon {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

/// A function that spreads errors by at most `slope`. Without a bound of its own its result is at most slope * |x| + 1.
struct Smooth {
  std::string_view name;
  double slope;
  double bound = 0;
};

constexpr Smooth kSmooth[] = {
    {"sigmoid", 0.25, 1}, {"tanh", 1, 1},      {"silu", 1.1}, {"gelu", 1.13},    {"gelu_tanh", 1.13}, {"mish", 1.1},
    {"softplus", 1},      {"softsign", 1, 1},  {"sin", 1, 1}, {"cos", 1, 1},     {"atan", 1, 1.58},   {"erf", 1.13, 1},
    {"selu", 1.76},       {"hard_swish", 1.5}, {"asinh", 1},  {"radians", 0.02},
};

/// Functions without rounding: exact values stay exact.
constexpr std::string_view kExact[] = {"neg", "abs", "relu"};
constexpr std::string_view kExactPairs[] = {"min", "max"};

}  // namespace

GraphMaker::Result GraphMaker::unary() {
  const Traced* x = find([](const Traced& t) { return t.value.dtype() != Dtype::boolean && t.is_tame(); });
  if (!x) {
    return {};
  }
  if (!is_float(x->value.dtype()) || chance(25)) {
    return like(map(kExact[static_cast<size_t>(pick(0, 2))], {x->value}), *x);
  }
  if (x->bound <= 4 && chance(15)) {
    const bool is_exp = chance(60);
    const double steep = std::exp(x->bound);
    return rounded(is_exp ? exp(x->value) : square(x->value), is_exp ? steep : x->bound * x->bound,
                   x->error * (is_exp ? steep : 2 * x->bound));
  }
  const Smooth& fn = kSmooth[static_cast<size_t>(pick(0, std::ssize(kSmooth) - 1))];
  const double bound = fn.bound > 0 ? fn.bound : fn.slope * x->bound + 1;
  return rounded(map(fn.name, {x->value}), bound, fn.slope * x->error);
}

GraphMaker::Result GraphMaker::binary() {
  const Traced* found =
      find([](const Traced& t) { return t.value.dtype() != Dtype::boolean && (t.is_tame() || t.exact); });
  if (!found) {
    return {};
  }
  const Traced x = *found;
  const Traced y = partner(x);
  const int64_t kind = pick(0, 9);
  if (kind < 2) {
    const Value value = map(kExactPairs[static_cast<size_t>(kind)], {x.value, y.value});
    return Traced{value, std::max(x.bound, y.bound), std::max(x.error, y.error), x.exact && y.exact};
  }
  const bool is_mul = kind >= 7;
  const Value value = is_mul ? x.value * y.value : kind < 5 ? x.value + y.value : x.value - y.value;
  const double bound = is_mul ? x.bound * y.bound : x.bound + y.bound;
  if (!is_float(value.dtype())) {
    return exact(value, bound);
  }
  if (!x.is_tame() || !y.is_tame()) {
    return {};
  }
  return rounded(value, bound, is_mul ? x.error * y.bound + y.error * x.bound : x.error + y.error);
}

GraphMaker::Result GraphMaker::conditional() {
  const Traced x = any();
  const Traced y = partner(x);
  const Traced z = partner(x);
  const std::vector<Axis>& axes = x.value.shape().axes();
  const Traced* found =
      find([&](const Traced& t) { return t.exact && (t.value.shape().axes() == axes || t.value.rank() == 0); });
  if (!found) {
    return {};
  }
  Value condition = found->value;
  if (condition.dtype() != Dtype::boolean) {
    condition = chance(50) ? gt(condition, 0) : ne(condition, 1);
  }
  if (x.value.dtype() != Dtype::boolean && chance(20)) {
    const Value value = clamp(x.value, min(y.value, z.value), z.value);
    return Traced{value, std::max({x.bound, y.bound, z.bound}), std::max({x.error, y.error, z.error}),
                  x.exact && y.exact && z.exact};
  }
  return Traced{select(condition, x.value, y.value), std::max(x.bound, y.bound), std::max(x.error, y.error),
                x.exact && y.exact};
}

GraphMaker::Result GraphMaker::cast_step() {
  const Traced x = any();
  const auto to = static_cast<Dtype>(pick(0, kDtypeCount - 1));
  if (to == x.value.dtype() || (!x.exact && !is_float(to))) {
    return {};
  }
  if (x.exact) {
    // A negative number in an unsigned type may be the largest one.
    const bool may_wrap = !is_float(to) && to != Dtype::boolean && !(is_float(x.value.dtype()) && x.is_tame());
    return exact(cast(x.value, to), to == Dtype::boolean ? 1 : may_wrap ? kNoBound : x.bound);
  }
  return x.is_tame() ? Result(rounded(cast(x.value, to), x.bound, x.error)) : Result();
}

/// Any row of the table, on exact values: results may be NaN, infinite or huge.
GraphMaker::Result GraphMaker::any_row() {
  const Traced* found = find([](const Traced& t) { return t.exact && (t.is_tame() || !is_float(t.value.dtype())); });
  if (!found) {
    return {};
  }
  const Traced x = *found;
  static const std::vector<const ScalarFn*> rows = scalar_table();
  std::vector<const ScalarFn*> fitting;
  std::ranges::copy_if(rows, std::back_inserter(fitting), [&](const ScalarFn* row) {
    return contains(row->domain, x.value.dtype()) && row->result != ResultRule::given &&
           row->result != ResultRule::bits && row->name != "select";
  });
  if (fitting.empty()) {
    return {};
  }
  const ScalarFn& row = *one_of(fitting);
  std::vector<Operand> operands{x.value};
  for (int i = 1; i < row.arity; ++i) {
    const Traced y = partner(x);
    if (!y.exact || (is_float(y.value.dtype()) && !y.is_tame())) {
      return {};
    }
    operands.emplace_back(y.value);
  }
  const Value value = map(row.name, operands);
  if (!is_float(value.dtype())) {
    return exact(value, value.dtype() == Dtype::boolean ? 1 : kNoBound);
  }
  return Traced{value, kNoBound, rounding_step(value.dtype()), false};
}

}  // namespace tenon
