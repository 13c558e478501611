// Resize: sampling at positions between elements, one axis after the other, from gathers and maps. One composite, so
// that lists of operators and counts show what was asked for.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <variant>

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/composites/composite.h"
#include "ops/make.h"
#include "tenon/convolution.h"

namespace tenon {
namespace {

/// How one axis is sampled. All values are f64: whole numbers far beyond any axis are exact, so the one division below
/// is rounded once, and halves and whole positions are what they are in exact arithmetic.
struct Sampling {
  int axis = 0;
  Extent size;                          // of the result
  std::variant<Extent, double> top;     // of the scale
  std::variant<Extent, double> bottom;  // ... and what divides it

  Value numerator() const { return number(top); }
  Value denominator() const { return number(bottom); }

 private:
  static Value number(const std::variant<Extent, double>& of) {
    const auto* extent = std::get_if<Extent>(&of);
    return extent != nullptr ? extent_value(*extent, Dtype::f64) : scalar(Dtype::f64, std::get<double>(of));
  }
};

// --- Which position of x a position of the result is, from -1 to n

using Coordinates = Value (*)(const Value& at, const Sampling& sampling, const Extent& n);

/// (at + 0.5) / scale - 0.5
Value half_pixel(const Value& at, const Sampling& s, const Extent&) {
  return ((2 * at + 1) * s.denominator() - s.numerator()) / (2 * s.numerator());
}

Value pytorch_half_pixel(const Value& at, const Sampling& s, const Extent& n) {
  return select(gt(extent_value(s.size, Dtype::f64), 1), half_pixel(at, s, n), 0);
}

Value align_corners(const Value& at, const Sampling& s, const Extent& n) {
  return at * extent_value(n - 1, Dtype::f64) / extent_value(max(s.size - 1, 1), Dtype::f64);
}

Value asymmetric(const Value& at, const Sampling& s, const Extent&) { return at * s.denominator() / s.numerator(); }

// --- Which element a position between elements is nearest to

using Rounding = Value (*)(const Value& position);

template <class T>
struct Choice {
  std::string_view name;
  T chosen;
};

constexpr std::array<Choice<Coordinates>, 4> kCoordinates = {{{"half_pixel", half_pixel},
                                                              {"pytorch_half_pixel", pytorch_half_pixel},
                                                              {"align_corners", align_corners},
                                                              {"asymmetric", asymmetric}}};
constexpr std::array<Choice<Rounding>, 4> kRoundings = {
    {{"round_prefer_floor", [](const Value& p) { return ceil(p - 0.5); }},
     {"round_prefer_ceil", [](const Value& p) { return floor(p + 0.5); }},
     {"floor", [](const Value& p) { return floor(p); }},
     {"ceil", [](const Value& p) { return ceil(p); }}}};

enum class Mode : uint8_t { nearest, linear, cubic };
constexpr std::array<Choice<Mode>, 3> kModes = {
    {{"nearest", Mode::nearest}, {"linear", Mode::linear}, {"cubic", Mode::cubic}}};

template <class T, size_t N>
T choose(const std::array<Choice<T>, N>& choices, std::string_view name, std::string_view what) {
  std::string names;
  for (const Choice<T>& choice : choices) {
    if (choice.name == name) {
      return choice.chosen;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", choice.name);
  }
  refuse("{} `{}` is none of {}", what, name, names);
}

// --- Sampling

/// The elements of x along `axis` nearest to whole positions (f64), the ends repeated beyond them.
Value at_positions(const Value& x, int axis, const Value& positions) {
  const Value last = extent_value(x.extent(axis) - 1, Dtype::f64);
  return take(x, cast(min(max(positions, 0), last), Dtype::i64), axis);
}

/// Weights of the elements from `first` on, for positions a fraction t beyond element 0.
struct Taps {
  int first = 0;
  std::vector<Value> weights;
};

Taps linear_taps(const Value& t) { return {0, {1 - t, t}}; }

/// Keys' cubic convolution with coefficient a, as polynomials of the distance.
Taps cubic_taps(const Value& t, double a) {
  const auto near = [&](const Value& d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };       // d <= 1
  const auto far = [&](const Value& d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };  // 1 <= d <= 2
  return {-1, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
}

Value interpolate(const Value& x, int axis, const Value& position, const Taps& taps, const Value& base) {
  // The weights vary along `axis` alone.
  std::vector<Axis> aligned{position.shape().axis(0)};
  aligned.resize(static_cast<size_t>(x.rank() - axis), Axis(1));
  Value sum;
  for (size_t k = 0; k < taps.weights.size(); ++k) {
    const Value elements = at_positions(x, axis, base + (taps.first + static_cast<int>(k)));
    const Value term = elements * reshape(cast(taps.weights[k], x.dtype()), aligned);
    sum = sum ? sum + term : term;
  }
  return sum;
}

/// What the options say, by their names.
struct Method {
  Mode mode;
  Coordinates coordinates;
  Rounding rounding;
  double cubic_coefficient;
};

Value sample(const Value& x, const std::vector<Sampling>& samplings, const Method& method) {
  // Half types hold neither the weights nor the partial sums well.
  const bool is_half = x.dtype() == Dtype::f16 || x.dtype() == Dtype::bf16;
  Value result = method.mode != Mode::nearest && is_half ? cast(x, Dtype::f32) : x;
  for (const Sampling& sampling : samplings) {
    const Value at = iota(Shape(Dtype::f64, {Axis(sampling.size)}));
    const Value position = method.coordinates(at, sampling, result.extent(sampling.axis));
    if (method.mode == Mode::nearest) {
      result = at_positions(result, sampling.axis, method.rounding(position));
      continue;
    }
    const Value base = floor(position);
    const Value t = position - base;
    const Taps taps = method.mode == Mode::linear ? linear_taps(t) : cubic_taps(t, method.cubic_coefficient);
    result = interpolate(result, sampling.axis, position, taps, base);
  }
  return cast(result, x.dtype());
}

Value sampled(const Value& x, const std::vector<Sampling>& samplings, const ResizeOptions& options) {
  const Method method{.mode = choose(kModes, options.mode, "mode"),
                      .coordinates = choose(kCoordinates, options.coordinates, "coordinate transformation"),
                      .rounding = choose(kRoundings, options.rounding, "rounding"),
                      .cubic_coefficient = options.cubic_coefficient};
  if (method.mode != Mode::nearest && !is_float(x.dtype())) {
    refuse("{} is for floats, not {}; cast first", options.mode, name(x.dtype()));
  }
  if (samplings.empty()) {
    return x;
  }
  return composite_of("resize", {{"x", x}}, [&](const Parts& in) { return sample(in[0], samplings, method); });
}

/// The scale as whole numbers up to 2^20, if it is such a fraction: 1.5 is 3 / 2.
std::optional<std::pair<int64_t, int64_t>> fraction(Scale scale) {
  constexpr double kLimit = 1 << 20;
  while (scale.numerator != std::floor(scale.numerator) || scale.denominator != std::floor(scale.denominator)) {
    scale = {scale.numerator * 2, scale.denominator * 2};
    if (scale.numerator > kLimit || scale.denominator > kLimit) {
      return std::nullopt;
    }
  }
  if (scale.numerator > kLimit || scale.denominator > kLimit) {
    return std::nullopt;
  }
  return std::pair{static_cast<int64_t>(scale.numerator), static_cast<int64_t>(scale.denominator)};
}

/// floor(n * scale) for axis `axis` of x.
Extent scaled_size(const Value& x, int axis, const Scale& scale) {
  const Extent& n = x.extent(axis);
  if (const auto exact = fraction(scale)) {
    return floordiv(n * exact->first, exact->second);
  }
  const auto size = n.constant();
  if (!size) {
    refuse("axis {} is {}, and {} is no fraction of small whole numbers: give one, or the size", axis,
           x.shape().axis(axis).to_string(), scale.numerator / scale.denominator);
  }
  const double scaled = std::floor(static_cast<double>(*size) * scale.numerator / scale.denominator);
  if (!(scaled < 0x1p53)) {
    refuse("axis {} of size {} times {} is too large", axis, *size, scale.numerator / scale.denominator);
  }
  return static_cast<int64_t>(scaled);
}

}  // namespace

Value resize(const Value& x, const Axes& axes, const std::vector<Extent>& size, const ResizeOptions& options) {
  return in_context("resize", {x}, [&] {
    const std::vector<int> normal = normalize_axes(axes, x.shape());
    if (size.size() != axes.size()) {
      refuse("lists {} axes and {} sizes", axes.size(), size.size());
    }
    std::vector<Sampling> samplings;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Extent& n = x.extent(normal[i]);
      if (n != size[i]) {  // every coordinate transformation is the identity for equal sizes
        samplings.push_back({.axis = normal[i], .size = size[i], .top = size[i], .bottom = n});
      }
    }
    return sampled(x, samplings, options);
  });
}

Value resize_by(const Value& x, const Axes& axes, const std::vector<Scale>& scales, const ResizeOptions& options) {
  return in_context("resize_by", {x}, [&] {
    const std::vector<int> normal = normalize_axes(axes, x.shape());
    if (scales.size() != axes.size()) {
      refuse("lists {} axes and {} scales", axes.size(), scales.size());
    }
    std::vector<Sampling> samplings;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Scale& scale = scales[i];
      const auto is_positive = [](double v) { return v > 0 && std::isfinite(v); };
      if (!is_positive(scale.numerator) || !is_positive(scale.denominator)) {
        refuse("scale {} / {} of axis {} is not positive", scale.numerator, scale.denominator, normal[i]);
      }
      if (scale.numerator != scale.denominator) {
        samplings.push_back({.axis = normal[i],
                             .size = scaled_size(x, normal[i], scale),
                             .top = scale.numerator,
                             .bottom = scale.denominator});
      }
    }
    return sampled(x, samplings, options);
  });
}

}  // namespace tenon
