#include "saved/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "base/pool.h"

namespace tenon::saved {
namespace {

/// Spans are cut here for threads, and the checksum is one of those of the pieces.
constexpr size_t kPiece = size_t{1} << 20;

constexpr size_t kLanes = 8;  // words that are under way at once: as many multiplications as a core can have

/// Each step is one to one in the word and in the state, so that no change of one word is lost.
Checksum of_piece(std::span<const std::byte> bytes) {
  std::array<uint64_t, kLanes> state = {};
  for (size_t lane = 0; lane < kLanes; ++lane) {
    state[lane] = mix_hash(lane + 1);
  }
  const auto step = [&](const std::byte* from) {
    std::array<uint64_t, kLanes> words = {};
    std::memcpy(words.data(), from, sizeof(words));
    for (size_t lane = 0; lane < kLanes; ++lane) {
      state[lane] = std::rotl(state[lane] ^ words[lane], 29) * 0x9e3779b97f4a7c15ULL;
    }
  };
  constexpr size_t kStep = kLanes * sizeof(uint64_t);
  size_t at = 0;
  for (; at + kStep <= bytes.size(); at += kStep) {
    step(bytes.data() + at);
  }
  if (at < bytes.size()) {
    std::array<std::byte, kStep> last = {};
    std::memcpy(last.data(), bytes.data() + at, bytes.size() - at);
    step(last.data());
  }
  Checksum sum{.first = bytes.size(), .second = ~bytes.size()};
  for (const uint64_t word : state) {
    sum.first = combine_hash(sum.first, word);
    sum.second = combine_hash(sum.second, ~word);
  }
  return sum;
}

}  // namespace

Checksum checksum(std::span<const std::byte> bytes, int threads) {
  if (bytes.size() <= kPiece) {
    return of_piece(bytes);
  }
  const size_t count = (bytes.size() + kPiece - 1) / kPiece;
  std::vector<Checksum> pieces(count);
  const auto sum = [&](int64_t begin, int64_t end, int /*worker*/) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      pieces[i] = of_piece(bytes.subspan(i * kPiece, std::min(kPiece, bytes.size() - i * kPiece)));
    }
  };
  Pool::shared().parallel_for(static_cast<int64_t>(count), 4, sum, threads);
  return of_piece(std::as_bytes(std::span(pieces)));
}

std::string to_hex(const Checksum& checksum) { return fmt::format("{:016x}{:016x}", checksum.first, checksum.second); }

}  // namespace tenon::saved
