// tanh and erf: odd functions that approach 1, by way of exp(y) - 1, whose error fades as they do; erf by pieces where
// tables are fast, which takes half as many instructions.
#include <array>

#include "codegen/math/llvm_math.h"

namespace tenon::codegen {
namespace {

// -log(1 - erf(x)) / x = high + low + x (...), for x up to 3.93. The first term takes two numbers: all of the error of
// small results is in it.
constexpr double kErfHigh = 0x1.20dd76p+0;
constexpr double kErfLow = -0x1.f7ac92p-25;
constexpr auto kErfRate = std::to_array({kErfLow, 0x1.45f2fep-1, 0x1.a4f95ep-4, -0x1.39c0dap-6, -0x1.5b0a96p-13,
                                         0x1.b6358cp-10, -0x1.4cff78p-11, 0x1.efeba8p-14, -0x1.38a81p-17});

// erf(i / 8 + t) = c[0][i] + c[1][i] t + ..., |t| <= 1/16; the first is 0 at i = 0, so that small results are as exact
// as large ones.
constexpr std::array<FloatTable, 5> kErfPieces = {{
    {0x0p+0f,        0x1.1f5e1ap-3f, 0x1.1af54ep-2f, 0x1.9dd0d2p-2f, 0x1.0a7ef6p-1f, 0x1.3f196ep-1f, 0x1.6c1c98p-1f,
     0x1.91724ap-1f, 0x1.af767ap-1f, 0x1.c6dad2p-1f, 0x1.d8865ep-1f, 0x1.e5768cp-1f, 0x1.eea556p-1f, 0x1.f4f694p-1f,
     0x1.f92d08p-1f, 0x1.fbe61ep-1f, 0x1.fd9ae2p-1f, 0x1.fea422p-1f, 0x1.ff4048p-1f, 0x1.ff996p-1f,  0x1.ffcaa8p-1f,
     0x1.ffe514p-1f, 0x1.fff2dp-1f,  0x1.fff9bap-1f, 0x1.fffd1ap-1f, 0x1.fffeb4p-1f, 0x1.ffff7p-1f,  0x1.ffffc4p-1f,
     0x1.ffffe8p-1f, 0x1.fffff6p-1f, 0x1.fffffcp-1f, 0x1.fffffep-1f},
    {0x1.20dd74p+0f,  0x1.1c62f2p+0f,  0x1.0f5d1p+0f,   0x1.f5f0c6p-1f,  0x1.c1efcap-1f,  0x1.86e96ep-1f,
     0x1.492e4cp-1f,  0x1.0cab6cp-1f,  0x1.a91206p-2f,  0x1.45e9bp-2f,   0x1.e4654ep-3f,  0x1.5ce5aap-3f,
     0x1.e72386p-4f,  0x1.499d4ap-4f,  0x1.b0552p-5f,   0x1.12ce96p-5f,  0x1.529b5cp-6f,  0x1.9461cep-7f,
     0x1.d4136p-8f,   0x1.0690ep-8f,   0x1.1d821cp-9f,  0x1.2ce73ep-10f, 0x1.335f08p-11f, 0x1.30515ep-12f,
     0x1.24064ep-13f, 0x1.0f9b26p-14f, 0x1.e9af76p-16f, 0x1.abd9e4p-17f, 0x1.6a52b2p-18f, 0x1.2963eep-19f,
     0x1.d92b06p-21f, 0x1.b9f8c4p-22f},
    {0x1.b10388p-17f, -0x1.1c6048p-3f,  -0x1.0f5c1ep-2f,  -0x1.787194p-2f,  -0x1.c1f19cp-2f,  -0x1.e8a54ep-2f,
     -0x1.edca92p-2f, -0x1.d63164p-2f,  -0x1.a90e5cp-2f,  -0x1.6ea2c6p-2f,  -0x1.2ec284p-2f,  -0x1.dfb81p-3f,
     -0x1.6d6394p-3f, -0x1.0bd47p-3f,   -0x1.7a5aa8p-4f,  -0x1.0183e6p-4f,  -0x1.52cbp-5f,    -0x1.ade1b2p-6f,
     -0x1.079b32p-6f, -0x1.36d8bep-7f,  -0x1.62f9fap-8f,  -0x1.880158p-9f,  -0x1.a92232p-10f, -0x1.b1563p-11f,
     -0x1.9d89ap-12f, -0x1.ad78d2p-13f, -0x1.be2df6p-14f, -0x1.2914bep-14f, -0x1.8db09ep-15f, -0x1.54ed8ep-18f,
     0x1.35d2a6p-19f, 0x1.30cb84p-16f},
    {-0x1.81ea02p-2f, -0x1.6ed12p-2f,  -0x1.3c32c4p-2f, -0x1.e0907p-3f,  -0x1.2be6a8p-3f, -0x1.c92f92p-5f,
     0x1.b28e5p-6f,   0x1.7b4c34p-4f,  0x1.1ab206p-3f,  0x1.4c157cp-3f,  0x1.56a418p-3f,  0x1.4325b6p-3f,
     0x1.1c0398p-3f,  0x1.d65872p-4f,  0x1.716a26p-4f,  0x1.1477d4p-4f,  0x1.8b908ep-5f,  0x1.0f2486p-5f,
     0x1.64c9b8p-6f,  0x1.c34288p-7f,  0x1.129866p-7f,  0x1.41d9b2p-8f,  0x1.6b937p-9f,   0x1.8c136ap-10f,
     0x1.a05296p-11f, 0x1.a668e8p-12f, 0x1.9ddd14p-13f, 0x1.87aef2p-14f, 0x1.662c5ep-15f, 0x1.3c8c04p-16f,
     0x1.0e6fcp-17f,  -0x1.411fccp-15f},
    {0x1.03a98p-6f,    0x1.134f26p-4f,   0x1.01e358p-3f,  0x1.4fd7c4p-3f,  0x1.7966fep-3f,   0x1.6b8664p-3f,
     0x1.3cb162p-3f,   0x1.ddc786p-4f,   0x1.100fcep-4f,  0x1.97d0cap-6f,  -0x1.cc2cdp-9f,   -0x1.04ac52p-5f,
     -0x1.4fecd2p-5f,  -0x1.87ef82p-5f,  -0x1.6ff7acp-5f, -0x1.89de82p-5f, -0x1.e882fap-6f,  -0x1.823978p-6f,
     -0x1.f202fep-7f,  -0x1.39052ep-6f,  -0x1.dede26p-7f, -0x1.481ad4p-7f, -0x1.5a335cp-10f, -0x1.cad88cp-9f,
     -0x1.7e6e6ep-8f,  -0x1.0df9aap-14f, 0x1.0f59d6p-9f,  0x1.6bafc2p-8f,  0x1.7a334cp-8f,   -0x1.4d7292p-11f,
     -0x1.3108b8p-10f, -0x1.283172p-8f},
}};
// Adding this rounds to eighths, which are then counted by the low bits of the word.
constexpr double kToEighths = 0x1p+20;

Lanes erf_by_pieces(Lanes magnitude) {
  const Lanes rounded = magnitude + kToEighths;
  const Lanes piece = bits(rounded);
  const Lanes t = magnitude - (rounded - kToEighths);
  Lanes sum = look_up(piece, kErfPieces.back());
  for (size_t i = kErfPieces.size() - 1; i-- > 0;) {
    sum = fma(sum, t, look_up(piece, kErfPieces[i]));
  }
  return sum;
}

}  // namespace

Lanes tanh_f32(Lanes x) {
  const Lanes magnitude = at_most(abs(x), 9.02);  // from there on it is 1
  const Lanes e = expm1_moderate(magnitude + magnitude);
  return copysign(e / (e + 2), x);
}

Lanes erf_f32(Lanes x) {
  const Lanes magnitude = at_most(abs(x), 3.93);  // from there on it is 1
  if (has_tables(x)) return copysign(erf_by_pieces(magnitude), x);
  const Lanes y = fma(magnitude, kErfHigh, magnitude * polynomial(magnitude, kErfRate));
  return copysign(expm1_moderate(-y), x);
}

}  // namespace tenon::codegen
