// Instructions from words to functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx_text.h"
#include "warp.h"

namespace tenon::emulated_gpu {

/// One instruction on its way: each word of it has to be taken by somebody who knows what it means.
class Decoding {
 public:
  Decoding(const Statement& statement, Step& to) : step(to), statement_(statement) {
    taken_.assign(statement.words.size(), false);
  }

  Step& step;
  const Statement& statement() const { return statement_; }
  const std::string& name() const { return statement_.words.front(); }
  bool take(std::string_view word);
  /// One of these; none: false.
  bool take_one(std::initializer_list<std::string_view> words);
  /// The last word but `before`, which is taken.
  std::string type(size_t before = 0);
  /// The first word that nobody took; empty: all were.
  std::string left() const;

 private:
  const Statement& statement_;
  std::vector<bool> taken_;
};

/// Each knows some instructions: false where it is none of them. Operands are decoded: to and from are there.
bool decode_integer(Decoding& d);
bool decode_float(Decoding& d);
bool decode_compare(Decoding& d);
bool decode_convert(Decoding& d);
bool decode_move(Decoding& d);
bool decode_memory(Decoding& d);
bool decode_warp(Decoding& d);

/// Calls f<T>() for the type of this name; false where it is no integer.
template <class F>
bool for_integer(std::string_view type, const F& f) {
  if (type == "s8") return f.template operator()<int8_t>(), true;
  if (type == "u8" || type == "b8") return f.template operator()<uint8_t>(), true;
  if (type == "s16") return f.template operator()<int16_t>(), true;
  if (type == "u16" || type == "b16") return f.template operator()<uint16_t>(), true;
  if (type == "s32") return f.template operator()<int32_t>(), true;
  if (type == "u32" || type == "b32") return f.template operator()<uint32_t>(), true;
  if (type == "s64") return f.template operator()<int64_t>(), true;
  if (type == "u64" || type == "b64") return f.template operator()<uint64_t>(), true;
  return false;
}

/// A function of its sources, for each thread.
template <class To, class From, auto F>
void unary(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) { to[i] = put<To>(F(get<From>(a[i]))); });
}

template <class To, class From, auto F>
void binary(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  const Word* const b = warp.row(step.from[1]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) { to[i] = put<To>(F(get<From>(a[i]), get<From>(b[i]))); });
}

template <class To, class From, auto F>
void ternary(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  const Word* const b = warp.row(step.from[1]);
  const Word* const c = warp.row(step.from[2]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) { to[i] = put<To>(F(get<From>(a[i]), get<From>(b[i]), get<From>(c[i]))); });
}

/// The entries of a module. `shared_bytes`: of variables that it declares. Throws Fault, which names what is not known.
std::vector<std::shared_ptr<Code>> decode(const ModuleText& module, DeviceMemory& memory);

}  // namespace tenon::emulated_gpu
