// Where a mask is true: pieces are counted, sums of counts say where each piece writes, pieces write.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "library/library.h"

namespace tenon::library {
namespace {

/// Elements that one thread looks at at a time. Any number gives the same result.
constexpr int64_t kPiece = 65536;

int64_t count_true(const uint8_t* mask, int64_t begin, int64_t end) {
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) {
    count += mask[i] != 0 ? 1 : 0;
  }
  return count;
}

void write_true(const uint8_t* mask, int64_t begin, int64_t end, int64_t* to) {
  constexpr int64_t word = sizeof(uint64_t);
  for (int64_t i = begin; i < end;) {
    uint64_t block = 0;
    if (end - i >= word) {
      std::memcpy(&block, mask + i, sizeof(block));
      if (block == 0) {  // masks are often mostly false
        i += word;
        continue;
      }
    }
    for (const int64_t stop = std::min(end, i + word); i < stop; ++i) {
      if (mask[i] != 0) {
        *to++ = i;
      }
    }
  }
}

}  // namespace

void run(const PositionsRoutine&, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers) {
  const auto* mask = reads[0].values<uint8_t>();
  auto* positions = writes[0].values<int64_t>();
  const int64_t size = reads[0].size();
  const int64_t pieces = (size + kPiece - 1) / kPiece;
  std::vector<int64_t> counts(static_cast<size_t>(pieces));
  const auto end_of = [&](int64_t piece) { return std::min(size, (piece + 1) * kPiece); };
  for_rows(workers, pieces, kPiece, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      counts[static_cast<size_t>(piece)] = count_true(mask, piece * kPiece, end_of(piece));
    }
  });
  int64_t total = 0;
  for (int64_t& count : counts) {
    total += std::exchange(count, total);  // now where the piece begins to write
  }
  for_rows(workers, pieces, kPiece, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      write_true(mask, piece * kPiece, end_of(piece), positions + counts[static_cast<size_t>(piece)]);
    }
  });
  *writes[1].values<int64_t>() = total;
}

}  // namespace tenon::library
