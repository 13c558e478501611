// Arithmetic of floats. What the machine computes approximately is computed well here: nothing may depend on its bits.
#include <cmath>
#include <limits>
#include <type_traits>

#include "decode.h"
#include "half.h"

namespace tenon::emulated_gpu {
namespace {

/// A type of registers, and the one it is computed in.
template <class T>
struct Computed {
  using Type = double;
  static Type read(T value) { return value_of(value); }
  static T write(Type value) { return nearest<T>(value); }
};
template <>
struct Computed<float> {
  using Type = float;
  static float read(float value) { return value; }
  static float write(float value) { return value; }
};
template <>
struct Computed<double> {
  using Type = double;
  static double read(double value) { return value; }
  static double write(double value) { return value; }
};
/// f32 without numbers below the least normal one.
struct Flushed {
  float value;
};
float flush(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value;
}
template <>
struct Computed<Flushed> {
  using Type = float;
  static float read(Flushed value) { return flush(value.value); }
  static Flushed write(float value) { return {flush(value)}; }
};

/// Two halves side by side.
template <class T>
struct Two {
  T low, high;
};

template <class T>
bool is_less(T a, T b) {
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}

// Numbers win over what is none.
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return std::isnan(a) ? b : std::isnan(b) ? a : is_less(a, b) ? a : b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return std::isnan(a) ? b : std::isnan(b) ? a : is_less(a, b) ? b : a;
  }
};
struct MinNan {
  template <class T>
  T operator()(T a, T b) const {
    return std::isnan(a) || std::isnan(b) ? a + b : is_less(a, b) ? a : b;
  }
};
struct MaxNan {
  template <class T>
  T operator()(T a, T b) const {
    return std::isnan(a) || std::isnan(b) ? a + b : is_less(a, b) ? b : a;
  }
};
struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct CopySign {  // of the first one, onto the second
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};
struct MultiplyAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
struct Negate {
  template <class T>
  T operator()(T a) const {
    return -a;
  }
};
struct Absolute {
  template <class T>
  T operator()(T a) const {
    return std::fabs(a);
  }
};
struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct InverseRoot {
  template <class T>
  T operator()(T a) const {
    return 1 / std::sqrt(a);
  }
};
struct Inverse {
  template <class T>
  T operator()(T a) const {
    return 1 / a;
  }
};
struct Exp2 {
  template <class T>
  T operator()(T a) const {
    return std::exp2(a);
  }
};
struct Log2 {
  template <class T>
  T operator()(T a) const {
    return std::log2(a);
  }
};
struct Sine {
  template <class T>
  T operator()(T a) const {
    return std::sin(a);
  }
};
struct Cosine {
  template <class T>
  T operator()(T a) const {
    return std::cos(a);
  }
};
struct Tanh {
  template <class T>
  T operator()(T a) const {
    return std::tanh(a);
  }
};

template <class T, class F, class... Values>
T computed(Values... values) {
  using C = Computed<T>;
  return C::write(static_cast<typename C::Type>(F{}(C::read(values)...)));
}

template <class T, class F>
constexpr auto kOne = unary<T, T, computed<T, F, T>>;
template <class T, class F>
constexpr auto kTwo = binary<T, T, computed<T, F, T, T>>;
template <class T, class F>
constexpr auto kThree = ternary<T, T, computed<T, F, T, T, T>>;

template <class T>
void decode_of(Decoding& d) {
  Step::Run& run = d.step.run;
  const std::string& name = d.name();
  if (name == "add") run = kTwo<T, Add>;
  if (name == "sub") run = kTwo<T, Subtract>;
  if (name == "mul") run = kTwo<T, Multiply>;
  if (name == "div") run = kTwo<T, Divide>;
  if (name == "min") run = d.take("NaN") ? kTwo<T, MinNan> : kTwo<T, Min>;
  if (name == "max") run = d.take("NaN") ? kTwo<T, MaxNan> : kTwo<T, Max>;
  if (name == "copysign") run = kTwo<T, CopySign>;
  if (name == "fma" || name == "mad") run = kThree<T, MultiplyAdd>;
  if (name == "neg") run = kOne<T, Negate>;
  if (name == "abs") run = kOne<T, Absolute>;
  if (name == "sqrt") run = kOne<T, SquareRoot>;
  if (name == "rsqrt") run = kOne<T, InverseRoot>;
  if (name == "rcp") run = kOne<T, Inverse>;
  if (name == "ex2") run = kOne<T, Exp2>;
  if (name == "lg2") run = kOne<T, Log2>;
  if (name == "sin") run = kOne<T, Sine>;
  if (name == "cos") run = kOne<T, Cosine>;
  if (name == "tanh") run = kOne<T, Tanh>;
}

template <class T, class F, class... Values>
Two<T> computed_twice(Values... values) {
  return {computed<T, F>(values.low...), computed<T, F>(values.high...)};
}

template <class T>
void decode_of_two(Decoding& d) {
  using P = Two<T>;
  Step::Run& run = d.step.run;
  const std::string& name = d.name();
  if (name == "add") run = binary<P, P, computed_twice<T, Add, P, P>>;
  if (name == "sub") run = binary<P, P, computed_twice<T, Subtract, P, P>>;
  if (name == "mul") run = binary<P, P, computed_twice<T, Multiply, P, P>>;
  if (name == "min")
    run = d.take("NaN") ? binary<P, P, computed_twice<T, MinNan, P, P>> : binary<P, P, computed_twice<T, Min, P, P>>;
  if (name == "max")
    run = d.take("NaN") ? binary<P, P, computed_twice<T, MaxNan, P, P>> : binary<P, P, computed_twice<T, Max, P, P>>;
  if (name == "fma") run = ternary<P, P, computed_twice<T, MultiplyAdd, P, P, P>>;
  if (name == "neg") run = unary<P, P, computed_twice<T, Negate, P>>;
  if (name == "abs") run = unary<P, P, computed_twice<T, Absolute, P>>;
}

}  // namespace

bool decode_float(Decoding& d) {
  const std::string type = d.type();
  d.take("rn");
  d.take_one({"approx", "full"});
  const bool flushes = d.take("ftz");
  if (type == "f32") flushes ? decode_of<Flushed>(d) : decode_of<float>(d);
  if (type == "f64") decode_of<double>(d);
  if (type == "f16") decode_of<F16>(d);
  if (type == "bf16") decode_of<Bf16>(d);
  if (type == "f16x2") decode_of_two<F16>(d);
  if (type == "bf16x2") decode_of_two<Bf16>(d);
  return d.step.run != nullptr;
}

}  // namespace tenon::emulated_gpu
