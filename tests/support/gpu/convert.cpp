// Conversions between types, with their roundings.
#include <cmath>
#include <limits>
#include <type_traits>

#include "decode.h"
#include "half.h"

namespace tenon::emulated_gpu {
namespace {

template <class T>
auto read(T value) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, Bf16>) {
    return value_of(value);
  } else {
    return value;
  }
}

template <class T, class From>
T write(From value) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, Bf16>) {
    return nearest<T>(static_cast<double>(value));
  } else {
    return static_cast<T>(value);
  }
}

enum class Round : uint8_t { none, nearest, zero, down, up };

template <Round kRound, class T>
T rounded(T value) {
  if (kRound == Round::nearest) return std::nearbyint(value);  // the host rounds to even
  if (kRound == Round::zero) return std::trunc(value);
  if (kRound == Round::down) return std::floor(value);
  if (kRound == Round::up) return std::ceil(value);
  return value;
}

/// To the nearest number that the type has; 0 of what is no number.
template <class To, class From>
To saturated(From value) {
  if (std::isnan(value)) return 0;
  const auto least = static_cast<From>(std::numeric_limits<To>::min());
  const auto most = std::ldexp(From{1}, std::numeric_limits<To>::digits);  // one more than the most
  if (value < least) return std::numeric_limits<To>::min();
  if (value >= most) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <class To, class From, Round kRound>
void convert(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) {
    const auto value = read(get<From>(a[i]));
    if constexpr (std::is_integral_v<decltype(value)>) {
      if constexpr (std::is_integral_v<To>) {
        to[i] = static_cast<Word>(static_cast<To>(value));
      } else {
        to[i] = put<To>(write<To>(value));
      }
    } else if constexpr (std::is_integral_v<To>) {
      to[i] = static_cast<Word>(saturated<To>(rounded<kRound>(value)));
    } else {
      to[i] = put<To>(write<To>(rounded<kRound>(value)));
    }
  });
}

template <class To, class From>
void decode_of(Decoding& d) {
  Step::Run& run = d.step.run;
  constexpr bool kOfFloat = !std::is_integral_v<From>;
  d.take("rn");  // of floats that have fewer bits than what they are made from
  if (d.take_one({"rni"}) && kOfFloat) run = convert<To, From, Round::nearest>;
  if (d.take_one({"rzi"}) && kOfFloat) run = convert<To, From, Round::zero>;
  if (d.take_one({"rmi"}) && kOfFloat) run = convert<To, From, Round::down>;
  if (d.take_one({"rpi"}) && kOfFloat) run = convert<To, From, Round::up>;
  if (run == nullptr && !(kOfFloat && std::is_integral_v<To>)) run = convert<To, From, Round::none>;
}

template <class F>
bool for_any(const std::string& type, const F& f) {
  if (type == "f32") return f.template operator()<float>(), true;
  if (type == "f64") return f.template operator()<double>(), true;
  if (type == "f16") return f.template operator()<F16>(), true;
  if (type == "bf16") return f.template operator()<Bf16>(), true;
  return for_integer(type, f);
}

/// Two numbers into one word, the first one above.
template <class T>
void pack(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  const Word* const b = warp.row(step.from[1]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes,
            [&](int i) { to[i] = Word{nearest<T>(get<float>(a[i])).bits} << 16 | nearest<T>(get<float>(b[i])).bits; });
}

/// To the 10 bits of mantissa of tf32; of two that are as near, the one further from zero.
void to_tf32(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) {
    const auto bits = get<uint32_t>(a[i]);
    to[i] = std::isfinite(get<float>(a[i])) ? (bits + 0x1000) & 0xffffe000 : bits;
  });
}

}  // namespace

bool decode_convert(Decoding& d) {
  if (d.name() != "cvt") return false;
  const std::string from = d.type();
  const std::string to = d.type(1);
  if (to == "tf32" && from == "f32" && d.take("rna")) d.step.run = to_tf32;
  if ((to == "f16x2" || to == "bf16x2") && from == "f32" && d.take("rn")) {
    d.step.run = to == "f16x2" ? pack<F16> : pack<Bf16>;
  }
  if (d.step.run != nullptr) return true;
  for_any(from, [&]<class From>() { for_any(to, [&]<class To>() { decode_of<To, From>(d); }); });
  return d.step.run != nullptr;
}

}  // namespace tenon::emulated_gpu
