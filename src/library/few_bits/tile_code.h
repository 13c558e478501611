// The code of tiles, included once for each kind of processor: TENON_TARGET is the attribute of its functions,
// TENON_INLINE of those that are put into others, and the namespace around it has
//   kLanes     words of a vector, and Ints, Words, Floats and Bytes: vectors of so many
//   kVectors   vectors of columns that are summed at once
//   kIntegerRows, kFloatRows    rows at once, at most
//   kIsSigned  whether dot() takes the bytes of both operands with their sign, and else those of words without
//   kIsFused   whether add_product() rounds once
//   dot<bits>(sums, words, left)    sums + the four products of bytes of each word
//   add_product(sum, a, b)     sum + a * b
//   numbers<bits, i>(words)    the i-th number of each word less half of what the bits can count, as floats
// No include guard on purpose.

// Parameters of templates are sizes of arrays of vectors here, and counted with.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

template <class Vector>
TENON_INLINE Vector load(const void* from) {
  Vector result;
  __builtin_memcpy(&result, from, sizeof result);
  return result;
}

template <class Element>
TENON_INLINE Element element(const void* from) {
  Element result;
  __builtin_memcpy(&result, from, sizeof result);
  return result;
}

/// The i-th numbers of the four bytes of each word, a byte each.
template <int kBits, int kPart>
TENON_INLINE Words part_of(Words words) {
  constexpr uint32_t mask = 0x01010101U * ((1U << kBits) - 1);
  return kBits == 8 ? words : (words >> (kBits * kPart)) & mask;
}

/// Whether bytes are read as what they are less 128, which are bytes with sign.
template <int kBits>
constexpr bool is_turned() {
  return kBits == 8 && kIsSigned;
}

template <int kBits, int kRows, bool kHasZeros>
TENON_TARGET void integer_tile(const Tile& tile) {
  constexpr int parts = 8 / kBits;
  const auto* const left = static_cast<const int8_t*>(tile.left);
  for (int64_t column = 0; column < kPanel; column += int64_t{kLanes} * kVectors) {
    Floats sums[kRows][kVectors] = {};
    const std::byte* words = tile.words + column * kWordBytes;
    for (int64_t block = 0; block < tile.blocks; ++block) {
      const int64_t at = block * kPanel + column;
      Ints dots[kRows][kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 8
        for (int row = 0; row < kRows; ++row) {
          const int32_t* const of_row = kHasZeros ? tile.left_sums : tile.left_starts;
          dots[row][v] = Ints{} + of_row[row * tile.blocks + block];
          if constexpr (kHasZeros) {
            const Ints zeros = __builtin_convertvector(load<Bytes>(tile.zeros + at + v * kLanes), Ints);
            dots[row][v] *= (is_turned<kBits>() ? 128 : 0) - zeros;
          }
        }
      }
      const int8_t* numbers = left + block * tile.block_words * kWordBytes * parts;
      for (int64_t word = 0; word < tile.block_words; ++word) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          Words these = load<Words>(words + v * kLanes * kWordBytes);
          if constexpr (is_turned<kBits>()) these ^= 0x80808080U;
#pragma GCC unroll 8
          for (int row = 0; row < kRows; ++row) {
            const int8_t* const x = numbers + row * tile.left_row;
            dots[row][v] = dot<kBits>(dots[row][v], part_of<kBits, 0>(these), element<int32_t>(x));
            if constexpr (parts > 1) {
              dots[row][v] =
                  dot<kBits>(dots[row][v], part_of<kBits, 1 % parts>(these), element<int32_t>(x + kWordBytes));
            }
            if constexpr (parts > 2) {
              dots[row][v] =
                  dot<kBits>(dots[row][v], part_of<kBits, 2 % parts>(these), element<int32_t>(x + 2 * kWordBytes));
              dots[row][v] =
                  dot<kBits>(dots[row][v], part_of<kBits, 3 % parts>(these), element<int32_t>(x + 3 * kWordBytes));
            }
          }
        }
        words += kPanel * kWordBytes;
        numbers += kWordBytes * parts;
      }
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Floats scales = load<Floats>(tile.scales + at + v * kLanes);
#pragma GCC unroll 8
        for (int row = 0; row < kRows; ++row) {
          sums[row][v] = add_product(sums[row][v], __builtin_convertvector(dots[row][v], Floats),
                                     scales * tile.left_scales[row * tile.blocks + block]);
        }
      }
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        __builtin_memcpy(tile.out + row * tile.out_row + column + v * kLanes, &sums[row][v], sizeof(Floats));
      }
    }
  }
}

template <int kBits, int kPart, int kRows>
TENON_INLINE void add_parts(Floats (&sums)[kRows][kVectors], const Words (&words)[kVectors], const float* left,
                            int64_t left_row) {
  if constexpr (kPart < 32 / kBits) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Floats part = numbers<kBits, kPart>(words[v]);
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        sums[row][v] = add_product(sums[row][v], part, left[row * left_row + kPart] - Floats{});
      }
    }
    add_parts<kBits, kPart + 1, kRows>(sums, words, left, left_row);
  }
}

template <int kBits, int kRows, bool kHasZeros>
TENON_TARGET void float_tile(const Tile& tile) {
  constexpr int half = 1 << (kBits - 1);
  const auto* const left = static_cast<const float*>(tile.left);
  for (int64_t column = 0; column < kPanel; column += int64_t{kLanes} * kVectors) {
    Floats sums[kRows][kVectors] = {};
    const std::byte* from = tile.words + column * kWordBytes;
    for (int64_t block = 0; block < tile.blocks; ++block) {
      Floats of_block[kRows][kVectors] = {};
      const float* x = left + block * tile.block_words * (32 / kBits);
      for (int64_t word = 0; word < tile.block_words; ++word) {
        Words words[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          words[v] = load<Words>(from + v * kLanes * kWordBytes);
        }
        add_parts<kBits, 0, kRows>(of_block, words, x, tile.left_row);
        from += kPanel * kWordBytes;
        x += 32 / kBits;
      }
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = block * kPanel + column + v * kLanes;
        const Floats scales = load<Floats>(tile.scales + at);
        Floats less = {};
        if constexpr (kHasZeros) {
          less = __builtin_convertvector(half - __builtin_convertvector(load<Bytes>(tile.zeros + at), Ints), Floats);
        }
#pragma GCC unroll 8
        for (int row = 0; row < kRows; ++row) {
          if constexpr (kHasZeros) {
            const float all = tile.left_scales[row * tile.blocks + block];
            of_block[row][v] = add_product(of_block[row][v], less, all - Floats{});
          }
          sums[row][v] = add_product(sums[row][v], of_block[row][v], scales);
        }
      }
    }
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        __builtin_memcpy(tile.out + row * tile.out_row + column + v * kLanes, &sums[row][v], sizeof(Floats));
      }
    }
  }
}

/// The largest magnitude; one that is no number counts as larger than all.
TENON_INLINE float largest(const float* from, int64_t count) {
  Words most = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Words bits = load<Words>(from + i) & 0x7fffffffU;
    most = bits > most ? bits : most;
  }
  uint32_t all = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    all = most[lane] > all ? most[lane] : all;
  }
  for (; i < count; ++i) {
    const uint32_t bits = element<uint32_t>(from + i) & 0x7fffffffU;
    all = bits > all ? bits : all;
  }
  return element<float>(&all);
}

template <int kBits>
TENON_TARGET void row_in_bytes(const RowInBytes& call) {
  constexpr int parts = 8 / kBits;
  constexpr float shift = 12582912;  // 1.5 * 2^23: sums with it are rounded, and their lowest bits are the integer
  alignas(64) uint32_t integers[kMostBlock];
  int8_t* to = call.bytes;
  for (int64_t block = 0; block < call.blocks; ++block) {
    const float* const from = call.row + block * call.block;
    const int64_t left = call.depth - block * call.block;
    const int64_t count = left < call.block ? left : call.block;
    const float most = largest(from, count);
    const float inverse = most >= 1e-36F ? 127 / most : 0;
    Ints sum = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const Floats rounded = load<Floats>(from + i) * inverse + shift;
      Ints low = load<Ints>(&rounded) << 24 >> 24;
      sum += low;
      __builtin_memcpy(integers + i, &low, sizeof low);
    }
    int32_t total = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      total += sum[lane];
    }
    for (; i < count; ++i) {
      const float rounded = from[i] * inverse + shift;
      integers[i] = element<uint32_t>(&rounded);
      total += static_cast<int8_t>(integers[i]);
    }
    for (; i < call.block; ++i) {
      integers[i] = 0;
    }
    for (i = 0; i < call.block; i += kWordBytes * parts) {
      for (int part = 0; part < parts; ++part) {
        const uint32_t* const each = integers + i + part;
        const uint32_t word =
            (each[0] & 255) | (each[parts] & 255) << 8 | (each[2 * parts] & 255) << 16 | each[3 * parts] << 24;
        __builtin_memcpy(to, &word, sizeof word);
        to += sizeof word;
      }
    }
    call.scales[block] = most / 127;
    call.sums[block] = total;
    call.starts[block] = is_turned<kBits>() ? 0 : -(total << (kBits - 1));
  }
}

template <int kBits, int kRows>
void add_tiles(Kernels& kernels) {
  if constexpr (kRows > 0) {
    if constexpr (kRows <= kIntegerRows) {
      kernels.integers[kRows] = {integer_tile<kBits, kRows, false>, integer_tile<kBits, kRows, true>};
    }
    if constexpr (kRows <= kFloatRows) {
      kernels.floats[kRows] = {float_tile<kBits, kRows, false>, float_tile<kBits, kRows, true>};
    }
    add_tiles<kBits, kRows - 1>(kernels);
  }
}

template <int kBits>
Kernels kernels_of(std::string_view name) {
  Kernels kernels{.name = name,
                  .is_fused = kIsFused,
                  .integer_rows = kIntegerRows,
                  .float_rows = kFloatRows,
                  .integers = {},
                  .floats = {},
                  .in_bytes = row_in_bytes<kBits>};
  add_tiles<kBits, kMostRows>(kernels);
  return kernels;
}

#pragma GCC diagnostic pop
