// Arithmetic of integers, and logic.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "decode.h"

namespace tenon::emulated_gpu {
namespace {

/// Without overflow: as machines compute.
template <class T>
constexpr T wrapped(uint64_t value) {
  return static_cast<T>(value);
}

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, Int128, Uint128>;

template <class T>
T high(T a, T b) {
  return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
}

template <class T>
T divided(T a, T b) {
  if (b == 0) return wrapped<T>(~uint64_t{0});  // as these machines do
  if (std::is_signed_v<T> && b == wrapped<T>(~uint64_t{0})) return wrapped<T>(uint64_t{0} - static_cast<uint64_t>(a));
  return static_cast<T>(a / b);
}

template <class T>
T remainder_of(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == wrapped<T>(~uint64_t{0})) return 0;
  return static_cast<T>(a % b);
}

template <class T>
T absolute(T a) {
  return a < 0 ? wrapped<T>(uint64_t{0} - static_cast<uint64_t>(a)) : a;
}

template <class T>
void decode_of(Decoding& d) {
  Step::Run& run = d.step.run;
  const std::string& name = d.name();
  if (name == "add")
    run = binary<T, T, [](T a, T b) { return wrapped<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }>;
  if (name == "sub")
    run = binary<T, T, [](T a, T b) { return wrapped<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }>;
  if (name == "min") run = binary<T, T, [](T a, T b) { return std::min(a, b); }>;
  if (name == "max") run = binary<T, T, [](T a, T b) { return std::max(a, b); }>;
  if (name == "div") run = binary<T, T, divided<T>>;
  if (name == "rem") run = binary<T, T, remainder_of<T>>;
  if (name == "neg") run = unary<T, T, [](T a) { return wrapped<T>(uint64_t{0} - static_cast<uint64_t>(a)); }>;
  if (name == "abs") run = unary<T, T, absolute<T>>;
  if (name == "and") run = binary<T, T, [](T a, T b) { return static_cast<T>(a & b); }>;
  if (name == "or") run = binary<T, T, [](T a, T b) { return static_cast<T>(a | b); }>;
  if (name == "xor") run = binary<T, T, [](T a, T b) { return static_cast<T>(a ^ b); }>;
  if (name == "not") run = unary<T, T, [](T a) { return static_cast<T>(~a); }>;
  if (name == "popc")
    run = unary<uint32_t, T,
                [](T a) { return static_cast<uint32_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(a))); }>;
  if (name == "clz")
    run = unary<uint32_t, T,
                [](T a) { return static_cast<uint32_t>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(a))); }>;
}

template <class T>
T reversed(T a) {
  T result = 0;
  for (size_t i = 0; i < 8 * sizeof(T); ++i)
    result = static_cast<T>(result | (((a >> i) & 1) << (8 * sizeof(T) - 1 - i)));
  return result;
}

/// How far is a number of 32 bits, whatever is moved.
template <class T, bool kLeft>
void shift(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  const Word* const b = warp.row(step.from[1]);
  Word* const to = warp.out(step.to[0]);
  constexpr uint32_t kBits = 8 * sizeof(T);
  each_lane(lanes, [&](int i) {
    const auto by = get<uint32_t>(b[i]);
    const auto value = get<T>(a[i]);
    if constexpr (kLeft) {
      to[i] = put<T>(by >= kBits ? T{0} : wrapped<T>(static_cast<uint64_t>(value) << by));
    } else {
      to[i] = put<T>(static_cast<T>(by >= kBits ? (value < 0 ? T(-1) : T(0)) : T(value >> by)));
    }
  });
}

template <class T>
struct Twice;
template <>
struct Twice<int16_t> {
  using Type = int32_t;
};
template <>
struct Twice<uint16_t> {
  using Type = uint32_t;
};
template <>
struct Twice<int32_t> {
  using Type = int64_t;
};
template <>
struct Twice<uint32_t> {
  using Type = uint64_t;
};

/// mul, mad: the lower or the upper half of the product, or all of it.
template <class T>
bool decode_product(Decoding& d) {
  const bool adds = d.name() == "mad";
  if (d.take("lo")) {
    d.step.run =
        adds ? ternary<T, T,
                       [](T a, T b, T c) {
                         return wrapped<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) +
                                           static_cast<uint64_t>(c));
                       }>
             : binary<T, T, [](T a, T b) { return wrapped<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }>;
  } else if (d.take("hi")) {
    d.step.run = adds ? ternary<T, T,
                                [](T a, T b, T c) {
                                  return wrapped<T>(static_cast<uint64_t>(high(a, b)) + static_cast<uint64_t>(c));
                                }>
                      : binary<T, T, high<T>>;
  } else if constexpr (sizeof(T) == 2 || sizeof(T) == 4) {
    if (!d.take("wide")) return false;
    using W = typename Twice<T>::Type;
    d.step.run = adds ? +[](Warp& warp, const Step& step, Lanes lanes) {
      const Word* const a = warp.row(step.from[0]);
      const Word* const b = warp.row(step.from[1]);
      const Word* const c = warp.row(step.from[2]);
      Word* const to = warp.out(step.to[0]);
      each_lane(lanes, [&](int i) {
        to[i] = put<W>(wrapped<W>(static_cast<uint64_t>(W{get<T>(a[i])} * W{get<T>(b[i])}) + static_cast<uint64_t>(get<W>(c[i]))));
      });
    } : binary<W, T, [](T a, T b) { return static_cast<W>(W{a} * W{b}); }>;
  } else {
    return false;
  }
  return true;
}

/// Bits `from[1]` and so many of them, into the lowest ones.
template <class T>
void extract(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  const Word* const b = warp.row(step.from[1]);
  const Word* const c = warp.row(step.from[2]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) {
    const auto value = static_cast<int64_t>(get<T>(a[i]));
    const unsigned at = b[i] & 0xff;
    const unsigned count = c[i] & 0xff;
    constexpr unsigned kBits = 8 * sizeof(T);
    uint64_t bits = at >= kBits ? 0 : static_cast<uint64_t>(std::make_unsigned_t<T>(value)) >> at;
    if (std::is_signed_v<T> && at >= kBits) bits = value < 0 ? ~uint64_t{0} : 0;
    if (count < 64) bits &= (uint64_t{1} << count) - 1;
    if (std::is_signed_v<T> && count != 0) {
      const unsigned last = std::min(at + count - 1, kBits - 1);
      const bool is_negative = ((static_cast<uint64_t>(value) >> last) & 1) != 0;
      const unsigned width = std::min(count, kBits - std::min(at, kBits - 1));
      if (is_negative && width < 64) bits |= ~((uint64_t{1} << width) - 1);
    }
    to[i] = put<T>(wrapped<T>(bits));
  });
}

/// Bytes of two words, each chosen by four bits.
void permute(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  const Word* const b = warp.row(step.from[1]);
  const Word* const c = warp.row(step.from[2]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) {
    const uint64_t both = (a[i] & 0xffffffff) | (b[i] << 32);
    uint64_t result = 0;
    for (unsigned j = 0; j < 4; ++j) {
      const uint64_t choice = (c[i] >> (4 * j)) & 0xf;
      uint64_t byte = (both >> (8 * (choice & 7))) & 0xff;
      if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      result |= byte << (8 * j);
    }
    to[i] = result;
  });
}

/// The lowest bits of one number, put into another from a bit on.
template <class T>
void insert(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  const Word* const b = warp.row(step.from[1]);
  const Word* const c = warp.row(step.from[2]);
  const Word* const n = warp.row(step.from[3]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) {
    const unsigned at = c[i] & 0xff;
    const unsigned count = n[i] & 0xff;
    const uint64_t bits = count < 64 ? (uint64_t{1} << count) - 1 : ~uint64_t{0};
    const uint64_t mask = at < 64 ? bits << at : 0;
    const uint64_t put_in = at < 64 ? a[i] << at : 0;
    to[i] = put<T>(wrapped<T>((b[i] & ~mask) | (put_in & mask)));
  });
}

/// Two numbers of 16 bits side by side.
template <class T>
struct Pair {
  T low, high;
};

template <class T, auto F>
Pair<T> both(Pair<T> a, Pair<T> b) {
  return {static_cast<T>(F(a.low, b.low)), static_cast<T>(F(a.high, b.high))};
}

template <class T>
bool decode_pairs(Decoding& d) {
  using P = Pair<T>;
  Step::Run& run = d.step.run;
  constexpr auto add = [](T a, T b) { return a + b; };
  constexpr auto least = [](T a, T b) { return std::min(a, b); };
  constexpr auto most = [](T a, T b) { return std::max(a, b); };
  if (d.name() == "add") run = binary<P, P, both<T, add>>;
  if (d.name() == "min") run = binary<P, P, both<T, least>>;
  if (d.name() == "max") run = binary<P, P, both<T, most>>;
  return run != nullptr;
}

/// shf: of two words side by side.
template <bool kLeft, bool kWraps>
void funnel(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  const Word* const b = warp.row(step.from[1]);
  const Word* const c = warp.row(step.from[2]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) {
    const uint64_t both = (a[i] & 0xffffffff) | (b[i] << 32);
    const unsigned by = kWraps ? c[i] & 31 : static_cast<unsigned>(std::min<uint64_t>(get<uint32_t>(c[i]), 32));
    to[i] = kLeft ? ((by == 0 ? both : both << by) >> 32) & 0xffffffff : (both >> by) & 0xffffffff;
  });
}

bool decode_predicate(Decoding& d) {
  using B = uint8_t;
  if (d.name() == "and") d.step.run = binary<B, B, [](B a, B b) { return static_cast<B>(a & b); }>;
  if (d.name() == "or") d.step.run = binary<B, B, [](B a, B b) { return static_cast<B>(a | b); }>;
  if (d.name() == "xor") d.step.run = binary<B, B, [](B a, B b) { return static_cast<B>(a ^ b); }>;
  if (d.name() == "not") d.step.run = unary<B, B, [](B a) { return static_cast<B>(a ^ 1); }>;
  return d.step.run != nullptr;
}

}  // namespace

bool decode_integer(Decoding& d) {
  const std::string& name = d.name();
  if (name == "prmt") {
    d.type();
    d.step.run = permute;
    return true;
  }
  if (name == "shf") {
    d.type();
    const bool left = d.take("l");
    if (!left) d.take("r");
    const bool wraps = d.take("wrap");
    if (!wraps) d.take("clamp");
    d.step.run = left ? (wraps ? funnel<true, true> : funnel<true, false>)
                      : (wraps ? funnel<false, true> : funnel<false, false>);
    return true;
  }
  const std::string type = d.type();
  if (type == "pred") return decode_predicate(d);
  if (type == "s16x2") return decode_pairs<int16_t>(d);
  if (type == "u16x2") return decode_pairs<uint16_t>(d);
  return for_integer(type,
                     [&]<class T>() {
                       if constexpr (sizeof(T) > 1) {
                         if (name == "mul" || name == "mad") {
                           decode_product<T>(d);
                         } else if (name == "shl") {
                           d.step.run = shift<T, true>;
                         } else if (name == "shr") {
                           d.step.run = shift<T, false>;
                         } else if (name == "bfe") {
                           d.step.run = extract<T>;
                         } else if (name == "bfi") {
                           d.step.run = insert<T>;
                         } else if (name == "brev") {
                           d.step.run = unary<T, T, reversed<T>>;
                         } else {
                           decode_of<T>(d);
                         }
                       }
                     }) &&
         d.step.run != nullptr;
}

}  // namespace tenon::emulated_gpu
