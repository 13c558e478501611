// tanh and erf: odd functions that approach 1, by way of exp(y) - 1, whose error fades as they do.
#include <array>

#include "codegen/llvm_math.h"

namespace tenon::codegen {
namespace {

// -log(1 - erf(x)) / x = high + low + x (...), for x up to 3.93. The first term takes two numbers: all of the error of
// small results is in it.
constexpr double kErfHigh = 0x1.20dd76p+0;
constexpr double kErfLow = -0x1.f7ac92p-25;
constexpr auto kErf = std::to_array({kErfLow, 0x1.45f2fep-1, 0x1.a4f95ep-4, -0x1.39c0dap-6, -0x1.5b0a96p-13,
                                     0x1.b6358cp-10, -0x1.4cff78p-11, 0x1.efeba8p-14, -0x1.38a81p-17});

}  // namespace

Lanes tanh_f32(Lanes x) {
  const Lanes magnitude = at_most(abs(x), 9.02);  // from there on it is 1
  const Lanes e = expm1_moderate(magnitude + magnitude);
  return copysign(e / (e + 2), x);
}

Lanes erf_f32(Lanes x) {
  const Lanes magnitude = at_most(abs(x), 3.93);  // from there on it is 1
  const Lanes y = fma(magnitude, kErfHigh, magnitude * polynomial(magnitude, kErf));
  return copysign(expm1_moderate(-y), x);
}

}  // namespace tenon::codegen
