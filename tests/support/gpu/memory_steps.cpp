// Moves between registers and memory.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "decode.h"

namespace tenon::emulated_gpu {
namespace {

void move(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) { to[i] = a[i]; });
}

/// Several registers from parts of one, or one from several.
template <int kBits>
void take_apart(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  for (size_t part = 0; part < step.count; ++part) {
    if (step.to[part] < 0) continue;  // `_`
    Word* const to = warp.out(step.to[part]);
    each_lane(lanes, [&](int i) { to[i] = (a[i] >> (kBits * part)) & ((Word{1} << kBits) - 1); });
  }
}

template <int kBits>
void join(Warp& warp, const Step& step, Lanes lanes) {
  each_lane(lanes, [&](int i) {
    Word word = 0;
    for (size_t part = 0; part < step.count; ++part)
      word |= (warp.row(step.from[part])[i] & ((Word{1} << kBits) - 1)) << (kBits * part);
    warp.out(step.to[0])[i] = word;
  });
}

template <class T>
void load(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const address = warp.row(step.from[0]);
  const uint64_t bytes = sizeof(T) * step.count;
  each_lane(lanes, [&](int i) {
    const uint8_t* const memory = warp.access(step.space, address[i] + static_cast<uint64_t>(step.offset), bytes,
                                              step.is_cached ? Access::cached_read : Access::read, i);
    for (size_t part = 0; part < step.count; ++part) {
      T value;
      std::memcpy(&value, memory + sizeof(T) * part, sizeof(T));
      warp.out(step.to[part])[i] = static_cast<Word>(value);  // with its sign
    }
  });
}

template <class T>
void store(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const address = warp.row(step.from[0]);
  const uint64_t bytes = sizeof(T) * step.count;
  each_lane(lanes, [&](int i) {
    uint8_t* const memory =
        warp.access(step.space, address[i] + static_cast<uint64_t>(step.offset), bytes, Access::write, i);
    for (size_t part = 0; part < step.count; ++part)
      std::memcpy(memory + sizeof(T) * part, &warp.row(step.from[part + 1])[i], sizeof(T));
  });
}

void load_parameter(Warp& warp, const Step& step, Lanes lanes) {
  for (size_t part = 0; part < step.count; ++part) {
    Word word = 0;
    std::memcpy(&word, warp.block.launch.parameters.data() + step.offset + part * step.bytes, step.bytes);
    Word* const to = warp.out(step.to[part]);
    each_lane(lanes, [&](int i) { to[i] = word; });
  }
}

void add_offset(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const a = warp.row(step.from[0]);
  Word* const to = warp.out(step.to[0]);
  each_lane(lanes, [&](int i) { to[i] = a[i] + static_cast<uint64_t>(step.offset); });
}

/// Read, compute and write: threads one after the other.
template <class T, auto F>
void atomic(Warp& warp, const Step& step, Lanes lanes) {
  const Word* const address = warp.row(step.from[0]);
  each_lane(lanes, [&](int i) {
    uint8_t* const memory =
        warp.access(step.space, address[i] + static_cast<uint64_t>(step.offset), sizeof(T), Access::atomic, i);
    T old;
    std::memcpy(&old, memory, sizeof(T));
    const T now = F(old, get<T>(warp.row(step.from[1])[i]), get<T>(warp.row(step.from[2])[i]));
    std::memcpy(memory, &now, sizeof(T));
    if (step.to[0] > 0) warp.out(step.to[0])[i] = put<T>(old);
  });
}

template <class T>
void decode_atomic(Decoding& d) {
  Step::Run& run = d.step.run;
  if (d.take("cas")) run = atomic<T, [](T old, T wanted, T value) { return old == wanted ? value : old; }>;
  if (d.take("exch")) run = atomic<T, [](T, T value, T) { return value; }>;
  if (d.take("add")) run = atomic<T, [](T old, T value, T) { return static_cast<T>(old + value); }>;
  if (d.take("min")) run = atomic<T, [](T old, T value, T) { return std::min(old, value); }>;
  if (d.take("max")) run = atomic<T, [](T old, T value, T) { return std::max(old, value); }>;
  if constexpr (std::is_integral_v<T>) {
    if (d.take("and")) run = atomic<T, [](T old, T value, T) { return static_cast<T>(old & value); }>;
    if (d.take("or")) run = atomic<T, [](T old, T value, T) { return static_cast<T>(old | value); }>;
    if (d.take("xor")) run = atomic<T, [](T old, T value, T) { return static_cast<T>(old ^ value); }>;
  }
}

Space space_of(Decoding& d) {
  if (d.take("global")) return Space::global;
  if (d.take("shared")) return Space::shared;
  if (d.take("local")) return Space::local;
  if (d.take("param")) return Space::parameter;
  return Space::generic;
}

/// Elements of an access by type.
template <class F>
bool for_memory(const std::string& type, const F& f) {
  if (type == "f32") return f.template operator()<uint32_t>(), true;
  if (type == "f64") return f.template operator()<uint64_t>(), true;
  if (type == "f16" || type == "bf16") return f.template operator()<uint16_t>(), true;
  return for_integer(type, f);
}

bool decode_access(Decoding& d) {
  const bool is_load = d.name() == "ld";
  const std::string type = d.type();
  d.step.space = space_of(d);
  d.step.is_cached = d.take("nc");
  d.take_one({"weak", "relaxed", "volatile", "acquire", "release"});
  d.take_one({"cta", "gpu", "sys"});
  d.take_one({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  d.take("cta");
  const unsigned count = d.take("v2") ? 2 : d.take("v4") ? 4 : 1;
  d.step.count = static_cast<uint8_t>(count);
  if (d.step.is_cached && d.step.space != Space::global) return false;
  return for_memory(type,
                    [&]<class T>() {
                      d.step.bytes = sizeof(T);
                      if (d.step.space == Space::parameter) {
                        d.step.run = is_load ? load_parameter : nullptr;
                      } else {
                        d.step.run = is_load ? load<T> : store<T>;
                      }
                    }) &&
         d.step.run != nullptr;
}

bool decode_cast(Decoding& d) {
  d.type();
  const bool is_back = d.take("to");
  const Space space = space_of(d);
  const auto offset = static_cast<int64_t>(space == Space::shared  ? kSharedWindow
                                           : space == Space::local ? kLocalWindow
                                                                   : 0);
  d.step.offset = is_back ? -offset : offset;
  d.step.run = add_offset;
  return true;
}

template <int kBits>
Step::Run parts(bool joins) {
  return joins ? join<kBits> : take_apart<kBits>;
}

}  // namespace

bool decode_move(Decoding& d) {
  if (d.name() != "mov") return false;
  const std::string type = d.type();
  const std::vector<Operand>& operands = d.statement().operands;
  const bool joins = operands[1].kind == Operand::Kind::list;
  d.step.run = move;
  if (!joins && operands[0].kind != Operand::Kind::list) return true;
  const size_t count = operands[joins ? 1 : 0].parts.size();
  d.step.count = static_cast<uint8_t>(count);
  const size_t bits = (type == "b64" ? 64 : type == "b32" ? 32 : 0) / count;
  d.step.run = bits == 32 ? parts<32>(joins) : bits == 16 ? parts<16>(joins) : bits == 8 ? parts<8>(joins) : nullptr;
  return d.step.run != nullptr;
}

bool decode_memory(Decoding& d) {
  const std::string& name = d.name();
  if (name == "ld" || name == "st") return decode_access(d);
  if (name == "cvta") return decode_cast(d);
  if (name == "atom" || name == "red") {
    const std::string type = d.type();
    d.step.space = space_of(d);
    d.take_one({"relaxed", "acquire", "release", "acq_rel"});
    d.take_one({"cta", "gpu", "sys"});
    if (type == "f32") decode_atomic<float>(d);
    if (type == "f64") decode_atomic<double>(d);
    for_integer(type, [&]<class T>() {
      if constexpr (sizeof(T) > 2) decode_atomic<T>(d);
    });
    return d.step.run != nullptr;
  }
  if (name == "membar" || name == "fence" || name == "prefetch") {  // blocks run one after the other
    while (d.take_one({"gl", "sys", "cta", "gpu", "sc", "acq_rel", "global", "L1", "L2"})) {
    }
    d.step.run = [](Warp&, const Step&, Lanes) {};
    return true;
  }
  return false;
}

}  // namespace tenon::emulated_gpu
