// Comparisons, and choices by them.
#include <cmath>
#include <type_traits>

#include "decode.h"
#include "half.h"

namespace tenon::emulated_gpu {
namespace {

template <class T>
double number_of(T value) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, Bf16>) {
    return value_of(value);
  } else {
    return value;
  }
}

template <class T, auto F>
constexpr auto kTest = binary<uint8_t, T, [](T a, T b) { return (static_cast<uint8_t>(F(a, b))); }>;

template <class T>
void decode_integers(Decoding& d) {
  Step::Run& run = d.step.run;
  using U = std::make_unsigned_t<T>;
  if (d.take("eq")) run = kTest<T, [](T a, T b) { return a == b; }>;
  if (d.take("ne")) run = kTest<T, [](T a, T b) { return a != b; }>;
  if (d.take("lt")) run = kTest<T, [](T a, T b) { return a < b; }>;
  if (d.take("le")) run = kTest<T, [](T a, T b) { return a <= b; }>;
  if (d.take("gt")) run = kTest<T, [](T a, T b) { return (a > b); }>;
  if (d.take("ge")) run = kTest<T, [](T a, T b) { return (a >= b); }>;
  if (d.take("lo")) run = kTest<U, [](U a, U b) { return a < b; }>;
  if (d.take("ls")) run = kTest<U, [](U a, U b) { return a <= b; }>;
  if (d.take("hi")) run = kTest<U, [](U a, U b) { return (a > b); }>;
  if (d.take("hs")) run = kTest<U, [](U a, U b) { return (a >= b); }>;
}

template <class T>
void decode_floats(Decoding& d) {
  Step::Run& run = d.step.run;
  // Ordered: false where one is no number. Those with a `u` behind: true there.
  if (d.take("eq")) run = kTest<T, [](T a, T b) { return number_of(a) == number_of(b); }>;
  if (d.take("ne"))
    run = kTest<T, [](T a, T b) { return (number_of(a) < number_of(b) || number_of(a) > number_of(b)); }>;
  if (d.take("lt")) run = kTest<T, [](T a, T b) { return number_of(a) < number_of(b); }>;
  if (d.take("le")) run = kTest<T, [](T a, T b) { return number_of(a) <= number_of(b); }>;
  if (d.take("gt")) run = kTest<T, [](T a, T b) { return (number_of(a) > number_of(b)); }>;
  if (d.take("ge")) run = kTest<T, [](T a, T b) { return (number_of(a) >= number_of(b)); }>;
  if (d.take("equ"))
    run = kTest<T, [](T a, T b) { return (!(number_of(a) < number_of(b) || number_of(a) > number_of(b))); }>;
  if (d.take("neu")) run = kTest<T, [](T a, T b) { return number_of(a) != number_of(b); }>;
  if (d.take("ltu")) run = kTest<T, [](T a, T b) { return (!(number_of(a) >= number_of(b))); }>;
  if (d.take("leu")) run = kTest<T, [](T a, T b) { return (!(number_of(a) > number_of(b))); }>;
  if (d.take("gtu")) run = kTest<T, [](T a, T b) { return !(number_of(a) <= number_of(b)); }>;
  if (d.take("geu")) run = kTest<T, [](T a, T b) { return !(number_of(a) < number_of(b)); }>;
  if (d.take("num")) run = kTest<T, [](T a, T b) { return !std::isnan(number_of(a)) && !std::isnan(number_of(b)); }>;
  if (d.take("nan")) run = kTest<T, [](T a, T b) { return std::isnan(number_of(a)) || std::isnan(number_of(b)); }>;
}

void choose(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  const Word* const b = warp.row(step.from[1]);
  const Word* const p = warp.row(step.from[2]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) { to[i] = (p[i] & 1) != 0 ? a[i] : b[i]; });
}

}  // namespace

bool decode_compare(Decoding& d) {
  if (d.name() == "selp") {
    d.type();
    d.step.run = choose;
    return true;
  }
  if (d.name() != "setp") return false;
  const std::string type = d.type();
  if (type == "f32") decode_floats<float>(d);
  if (type == "f64") decode_floats<double>(d);
  if (type == "f16") decode_floats<F16>(d);
  if (type == "bf16") decode_floats<Bf16>(d);
  if (type.starts_with("f") || type.starts_with("bf")) return d.step.run != nullptr;
  for_integer(type, [&]<class T>() { decode_integers<T>(d); });
  return d.step.run != nullptr;
}

}  // namespace tenon::emulated_gpu
