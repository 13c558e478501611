// What the threads of a warp do together. The places of elements in registers are those that the PTX ISA gives in its
// chapters on mma and ldmatrix, written down from there.
#include <algorithm>
#include <array>
#include <cstring>

#include "decode.h"
#include "half.h"

namespace tenon::emulated_gpu {
namespace {

enum class From : uint8_t { up, down, across, number };

/// shfl: what another thread holds; its own where there is none within the segment.
template <From kFrom>
void shuffle(Warp& warp, const Step& step, Lanes lanes) {
  std::array<Word, kWarp> held{};
  const Word* const value = warp.row(step.from[0]);
  const Word* const by = warp.row(step.from[1]);
  const Word* const control = warp.row(step.from[2]);
  const Word* const members = warp.row(step.from[3]);
  std::copy_n(value, kWarp, held.begin());
  Word* const to = warp.out(step.to[0]);
  Word* const found = step.count > 1 ? warp.out(step.to[1]) : nullptr;
  each_lane(lanes, [&](int i) {
    if (get<uint32_t>(members[i]) != lanes) throw Fault(kLaunchFailed, "shfl among threads that are not all there");
    const auto lane = static_cast<unsigned>(i);
    const unsigned distance = by[i] & 31;
    const unsigned clamp = control[i] & 31;
    const unsigned segment = (control[i] >> 8) & 31;
    const unsigned most = (lane & segment) | (clamp & ~segment);
    const unsigned least = lane & segment;
    unsigned source = lane;
    bool is_there = false;
    if (kFrom == From::up) {
      is_there = lane >= distance && lane - distance >= most;
      source = lane - distance;
    } else if (kFrom == From::down) {
      is_there = lane + distance <= most;
      source = lane + distance;
    } else if (kFrom == From::across) {
      is_there = (lane ^ distance) <= most;
      source = lane ^ distance;
    } else {
      source = least | (distance & ~segment);
      is_there = source <= most;
    }
    to[i] = held[is_there ? source : lane] & 0xffffffff;
    if (found != nullptr) found[i] = is_there ? 1 : 0;
  });
}

struct Tf32 {
  static constexpr size_t kDepth = 8;
  static constexpr size_t kOfWord = 1;
  /// The lower 13 bits of what a register holds are not looked at.
  static float read(Word word, size_t) { return get<float>(word & 0xffffe000); }
};

template <class T>
struct Half {
  static constexpr size_t kDepth = 16;
  static constexpr size_t kOfWord = 2;
  static float read(Word word, size_t half) {
    return static_cast<float>(value_of(T{static_cast<uint16_t>(word >> (16 * half))}));
  }
};

void require_whole(Lanes lanes) {
  if (lanes != kAllLanes) throw Fault(kLaunchFailed, "an instruction on matrices in a warp that is not whole");
}

/// d = a b + c, of 16 by kDepth and kDepth by 8.
template <class T>
void multiply(Warp& warp, const Step& step, Lanes lanes) {
  require_whole(lanes);
  std::array<std::array<float, T::kDepth>, 16> a{};
  std::array<std::array<float, 8>, T::kDepth> b{};
  std::array<std::array<float, 8>, 16> c{};
  constexpr size_t kHalfDepth = T::kDepth / 2;
  for (size_t lane = 0; lane < kWarp; ++lane) {
    const size_t group = lane / 4;
    const size_t member = lane % 4;
    for (size_t part = 0; part < T::kOfWord; ++part) {
      const size_t deep = member * T::kOfWord + part;
      for (size_t word = 0; word < 4; ++word) {
        const size_t row = group + (word % 2) * 8;
        a[row][deep + word / 2 * kHalfDepth] = T::read(warp.row(step.from[word])[lane], part);
      }
      for (size_t word = 0; word < 2; ++word)
        b[deep + word * kHalfDepth][group] = T::read(warp.row(step.from[4 + word])[lane], part);
    }
    for (size_t i = 0; i < 4; ++i)
      c[group + i / 2 * 8][member * 2 + i % 2] = get<float>(warp.row(step.from[6 + i])[lane]);
  }
  for (size_t row = 0; row < 16; ++row) {
    for (size_t column = 0; column < 8; ++column) {
      double sum = c[row][column];
      for (size_t k = 0; k < T::kDepth; ++k)
        sum += double{a[row][k]} * double{b[k][column]};
      c[row][column] = static_cast<float>(sum);
    }
  }
  for (size_t lane = 0; lane < kWarp; ++lane) {
    for (size_t i = 0; i < 4; ++i)
      warp.out(step.to[i])[lane] = put<float>(c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
  }
}

/// Matrices of 8 by 8 halves: threads name their rows, eight for each matrix.
template <bool kTurned>
void load_matrices(Warp& warp, const Step& step, Lanes lanes) {
  require_whole(lanes);
  const Word* const address = warp.row(step.from[0]);
  for (size_t matrix = 0; matrix < step.count; ++matrix) {
    std::array<std::array<uint16_t, 8>, 8> found{};
    for (size_t row = 0; row < 8; ++row) {
      const auto lane = static_cast<int>(8 * matrix + row);
      const uint8_t* const memory =
          warp.access(step.space, address[lane] + static_cast<uint64_t>(step.offset), 16, Access::read, lane);
      std::memcpy(found[row].data(), memory, 16);
    }
    for (size_t lane = 0; lane < kWarp; ++lane) {
      Word word = 0;
      for (size_t half = 0; half < 2; ++half) {
        const size_t row = lane / 4;
        const size_t column = lane % 4 * 2 + half;
        word |= Word{kTurned ? found[column][row] : found[row][column]} << (16 * half);
      }
      warp.out(step.to[matrix])[lane] = word;
    }
  }
}

bool decode_matrices(Decoding& d) {
  const bool is_whole = d.take("sync") && d.take("aligned") && d.take("row") && d.take("col");
  if (!is_whole) return false;
  const std::string& shape = d.statement().words.at(3);
  d.take(shape);
  const std::string of_d = d.statement().words.at(6);
  const std::string of_a = d.statement().words.at(7);
  if (of_d != "f32" || d.statement().words.back() != "f32" || d.statement().words.at(8) != of_a) return false;
  d.take(of_a);
  d.take(of_a);
  d.take("f32");
  d.take("f32");
  if (shape == "m16n8k8" && of_a == "tf32") d.step.run = multiply<Tf32>;
  if (shape == "m16n8k16" && of_a == "bf16") d.step.run = multiply<Half<Bf16>>;
  if (shape == "m16n8k16" && of_a == "f16") d.step.run = multiply<Half<F16>>;
  return d.step.run != nullptr;
}

}  // namespace

bool decode_warp(Decoding& d) {
  const std::string& name = d.name();
  if (name == "bar" || name == "barrier") {
    d.step.kind = Step::Kind::barrier;
    const bool is_warp = d.take("warp");
    d.take("cta");
    d.take("sync");
    d.take("aligned");
    if (is_warp) d.step.kind = Step::Kind::warp;
    d.step.run = [](Warp&, const Step&, Lanes) {};
    return true;
  }
  if (name == "shfl") {
    d.step.kind = Step::Kind::warp;
    d.type();
    d.take("sync");
    d.step.count = d.statement().operands[0].kind == Operand::Kind::list ? 2 : 1;
    if (d.take("up")) d.step.run = shuffle<From::up>;
    if (d.take("down")) d.step.run = shuffle<From::down>;
    if (d.take("bfly")) d.step.run = shuffle<From::across>;
    if (d.take("idx")) d.step.run = shuffle<From::number>;
    return d.step.run != nullptr;
  }
  if (name == "mma") {
    d.step.kind = Step::Kind::warp;
    return decode_matrices(d);
  }
  if (name == "ldmatrix") {
    d.step.kind = Step::Kind::warp;
    if (d.type() != "b16") return false;
    d.take("sync");
    d.take("aligned");
    d.step.space = d.take("shared") ? Space::shared : Space::generic;
    d.step.count = d.take("x4") ? 4 : d.take("x2") ? 2 : 1;
    d.take("x1");
    const bool is_turned = d.take("trans");
    if (!d.take("m8n8")) return false;
    d.step.run = is_turned ? load_matrices<true> : load_matrices<false>;
    return true;
  }
  return false;
}

}  // namespace tenon::emulated_gpu
