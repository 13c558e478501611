#include "saved/checksum.h"

#include <fmt/format.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/pool.h"

namespace tenon::saved {
namespace {

/// Spans are cut here for threads, and the checksum is one of those of the pieces.
constexpr size_t kPiece = size_t{1} << 20;

/// So far ahead memory is asked for: the processor does not look beyond a page by itself.
constexpr size_t kAhead = 4096;

/// Two words, side by side in a register of any x86-64 or ARM64.
using Words = uint64_t __attribute__((vector_size(16)));

/// The lower half of each word times its upper half.
Words multiply_halves(Words x) {
#if defined(__x86_64__)
  const auto halves = reinterpret_cast<__m128i>(x);
  return reinterpret_cast<Words>(_mm_mul_epu32(halves, _mm_srli_epi64(halves, 32)));
#elif defined(__aarch64__)
  const auto halves = reinterpret_cast<uint64x2_t>(x);
  return reinterpret_cast<Words>(vmull_u32(vmovn_u64(halves), vshrn_n_u64(halves, 32)));
#else
  return (x & 0xffffffffU) * (x >> 32);
#endif
}

/// Sums of products, of words that differ from a key by their bits; each place has a key of its own, so that what
/// stands elsewhere counts otherwise. To its neighbour's sum a word is added as it is: no change of one word is lost,
/// whatever it is multiplied by.
struct Sums {
  static constexpr size_t kCount = 4;
  static constexpr size_t kBytes = kCount * sizeof(Words);

  std::array<Words, kCount> sums;
  std::array<Words, kCount> keys;

  Sums() {
    for (uint64_t i = 0; i < kCount; ++i) {
      sums[i] = Words{mix_hash(2 * i + 1), mix_hash(2 * i + 2)};
      keys[i] = Words{mix_hash(2 * i + 101), mix_hash(2 * i + 102)};
    }
  }

  void add(const std::byte* from) {
    constexpr uint64_t kNextKey = 0x9e3779b97f4a7c15ULL;
    for (size_t i = 0; i < kCount; ++i) {
      Words words;
      std::memcpy(&words, from + i * sizeof(words), sizeof(words));
      sums[i] += Words{words[1], words[0]} + multiply_halves(words ^ keys[i]);
      keys[i] += kNextKey;
    }
  }
};

Checksum of_piece(std::span<const std::byte> bytes) {
  Sums sums;
  size_t at = 0;
  for (; at + Sums::kBytes <= bytes.size(); at += Sums::kBytes) {
    __builtin_prefetch(bytes.data() + at + kAhead);
    sums.add(bytes.data() + at);
  }
  if (at < bytes.size()) {
    std::array<std::byte, Sums::kBytes> last = {};
    std::memcpy(last.data(), bytes.data() + at, bytes.size() - at);
    sums.add(last.data());
  }
  Checksum sum{.first = bytes.size(), .second = ~bytes.size()};
  for (const Words& each : sums.sums) {
    for (const uint64_t word : {each[0], each[1]}) {
      sum.first = combine_hash(sum.first, word);
      sum.second = combine_hash(sum.second, ~word);
    }
  }
  return sum;
}

size_t piece_count(std::span<const std::byte> bytes) {
  return std::max<size_t>((bytes.size() + kPiece - 1) / kPiece, 1);
}

Checksum of_piece(std::span<const std::byte> bytes, size_t piece) {
  const size_t begin = piece * kPiece;
  return of_piece(bytes.subspan(begin, std::min(kPiece, bytes.size() - begin)));
}

Checksum of_pieces(std::span<const Checksum> pieces) {
  return pieces.size() == 1 ? pieces.front() : of_piece(std::as_bytes(pieces));
}

}  // namespace

Checksum checksum(std::span<const std::byte> bytes) {
  std::vector<Checksum> pieces;
  for (size_t i = 0; i < piece_count(bytes); ++i) {
    pieces.push_back(of_piece(bytes, i));
  }
  return of_pieces(pieces);
}

std::vector<Checksum> checksums(std::span<const std::span<const std::byte>> all) {
  struct Piece {
    size_t of;
    size_t number;
  };
  std::vector<Piece> pieces;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = 0; k < piece_count(all[i]); ++k) {
      pieces.push_back({i, k});
    }
  }
  std::vector<Checksum> of(pieces.size());
  Pool::shared().parallel_for(std::ssize(pieces), 4, [&](int64_t begin, int64_t end, int /*worker*/) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      of[i] = of_piece(all[pieces[i].of], pieces[i].number);
    }
  });
  std::vector<Checksum> sums;
  size_t first = 0;
  for (const std::span<const std::byte> each : all) {
    const size_t count = piece_count(each);
    sums.push_back(of_pieces(std::span(of).subspan(first, count)));
    first += count;
  }
  return sums;
}

Checksum checksum_of_file(const std::string& path) {
  constexpr int64_t kPieces = 16;
  const File file(path);
  const int64_t bytes = file.size();
  std::vector<std::byte> window(static_cast<size_t>(std::min<int64_t>(bytes, kPieces * kPiece)));
  std::vector<Checksum> pieces;
  for (int64_t at = 0; at < bytes || pieces.empty(); at += std::ssize(window)) {
    const auto part = std::span(window).first(static_cast<size_t>(std::min<int64_t>(bytes - at, std::ssize(window))));
    file.read(at, part);
    const size_t first = pieces.size();
    pieces.resize(first + piece_count(part));
    Pool::shared().parallel_for(std::ssize(pieces) - static_cast<int64_t>(first), 4,
                                [&](int64_t begin, int64_t end, int /*worker*/) {
                                  for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
                                    pieces[first + i] = of_piece(part, i);
                                  }
                                });
  }
  return of_pieces(pieces);
}

std::string to_hex(const Checksum& checksum) { return fmt::format("{:016x}{:016x}", checksum.first, checksum.second); }

}  // namespace tenon::saved
