// Random: bits from (key, counter), and what is made of them.
#include "tenon/random.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/convert.h"
#include "base/fail.h"
#include "base/refused.h"
#include "ops/make.h"
#include "tenon/indexing.h"

namespace tenon {
namespace {

/// Bits of the significand, the hidden one included.
int precision(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return 53;
    case Dtype::f32: return 24;
    case Dtype::f16: return 11;
    case Dtype::bf16: return 8;
    default: refuse("is for floats, not {}", name(dtype));
  }
}

/// The largest number of the dtype below `x`, which is one of its numbers.
double next_below(Dtype dtype, double x) {
  return visit_dtype(dtype, [&]<class T>() -> double {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(std::nextafter(static_cast<T>(x), -std::numeric_limits<T>::infinity()));
    } else if constexpr (is_half_type<T>) {
      // Sign and magnitude: one less is toward zero for positive numbers, one more away from it for negative ones.
      const T half = convert<T>(x);
      const auto word = half.bits;
      const uint16_t below = x == 0  ? uint16_t{0x8001}
                             : x > 0 ? static_cast<uint16_t>(word - 1)
                                     : static_cast<uint16_t>(word + 1);
      return static_cast<double>(static_cast<float>(T::from_bits(below)));
    } else {
      TENON_CHECK(false, "{} is no float", name(dtype));
    }
  });
}

double rounded(Dtype dtype, double x) { return Array::scalar(dtype, x).at(0); }

/// Multiples of 2^-precision in [0, 1), all exact.
Value unit_interval(const Value& key, const Value& counter, const Shape& shape) {
  const int digits = precision(shape.dtype());
  const Dtype word = shape.dtype() == Dtype::f64 ? Dtype::u64 : Dtype::u32;
  const int width = word == Dtype::u64 ? 64 : 32;
  const Value bits = random_bits(key, counter, shape.with_dtype(word));
  return cast(shr(bits, scalar(word, width - digits)), shape.dtype()) * std::ldexp(1.0, -digits);
}

}  // namespace

Inferred infer(const Random& op, Operands in) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (in[i].rank() != 0 || in[i].dtype() != Dtype::u64) {
      refuse("the {} is {}, must be u64[]", i == 0 ? "key" : "counter", in[i].shape().to_string());
    }
  }
  if (op.shape.dtype() != Dtype::u32 && op.shape.dtype() != Dtype::u64) {
    refuse("gives u32 or u64 bits, not {}", name(op.shape.dtype()));
  }
  Inferred result{{op.shape}};
  for (const Axis& axis : op.shape.axes()) {
    result.constraints.push_back({.kind = Constraint::Kind::at_least, .lhs = axis.extent(), .rhs = 0});
  }
  return result;
}

Value random_bits(const Value& key, const Value& counter, const Shape& shape) {
  return make(Random{shape}, {key, counter});
}

Value uniform(const Value& key, const Value& counter, const Shape& shape, double low, double high) {
  return in_context("uniform", {key, counter}, [&]() -> Value {
    const Value unit = unit_interval(key, counter, shape);
    if (low == 0 && high == 1) {
      return unit;
    }
    const double first = rounded(shape.dtype(), low);
    const double last = rounded(shape.dtype(), high);
    if (!(first < last) || !std::isfinite(rounded(shape.dtype(), last - first))) {
      refuse("no numbers of {} between {} and {}", name(shape.dtype()), low, high);
    }
    // The sum may round up to `high`.
    return min(unit * (last - first) + first, next_below(shape.dtype(), last));
  });
}

Value normal(const Value& key, const Value& counter, const Shape& shape, double mean, double deviation) {
  return in_context("normal", {key, counter}, [&]() -> Value {
    precision(shape.dtype());
    const Dtype compute = compute_dtype(shape.dtype());
    std::vector<Axis> axes = shape.axes();
    axes.emplace_back(2);
    const auto pair = unstack(unit_interval(key, counter, Shape(compute, axes)), -1);
    const Value radius = sqrt(log(1.0 - pair[0]) * -2.0);
    return cast(radius * cos(pair[1] * (2 * std::numbers::pi)) * deviation + mean, shape.dtype());
  });
}

Value bernoulli(const Value& key, const Value& counter, const std::vector<Axis>& axes, const Operand& probability) {
  return in_context("bernoulli", {key, counter},
                    [&] { return lt(unit_interval(key, counter, Shape(Dtype::f32, axes)), probability); });
}

Value dropout(const Value& x, double rate, const Value& key, const Value& counter) {
  return in_context("dropout", {x, key, counter}, [&]() -> Value {
    precision(x.dtype());
    if (!(rate >= 0 && rate <= 1)) {
      refuse("the rate is {}, must be in [0, 1]", rate);
    }
    if (rate == 0) {
      return x;
    }
    if (rate == 1) {
      return full(x.shape(), 0);
    }
    const Value keep = bernoulli(key, counter, x.shape().axes(), 1 - rate);
    return select(keep, x * (1 / (1 - rate)), scalar(x.dtype(), 0));
  });
}

Value permutation(const Value& key, const Value& counter, const Extent& count) {
  return argsort(random_bits(key, counter, shape(Dtype::u64, Axis(count))), 0);
}

}  // namespace tenon
