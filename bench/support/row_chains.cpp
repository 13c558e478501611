#include "support/row_chains.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace bench {

std::vector<float> spread_numbers(int64_t count, float scale) {
  std::vector<float> all(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float& each : all) {
    state = state * 1664525 + 1013904223;
    each = scale * (static_cast<float>(state >> 8) * 0x1p-23f - 1);
  }
  return all;
}

namespace {

constexpr size_t kLanes = 16;
using Vector = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

Vector load(const float* at) { return *reinterpret_cast<const Vector*>(at); }
void store(float* at, const Vector& value) { *reinterpret_cast<Vector*>(at) = value; }
Vector at_least_zero(const Vector& x) { return x > Vector{} ? x : Vector{}; }

/// `Count` rows of `Width` numbers times a matrix, and max(x, 0) of that.
template <size_t Width, size_t Count>
void multiply(const float* in, const float* weights, float* out) {
  constexpr size_t kVectors = 2;  // of columns at a time
  for (size_t column = 0; column < Width; column += kVectors * kLanes) {
    Vector sums[Count][kVectors] = {};
    for (size_t k = 0; k < Width; ++k) {
      for (size_t v = 0; v < kVectors; ++v) {
        const Vector w = load(weights + k * Width + column + v * kLanes);
        for (size_t row = 0; row < Count; ++row) {
          sums[row][v] += in[row * Width + k] * w;
        }
      }
    }
    for (size_t row = 0; row < Count; ++row) {
      for (size_t v = 0; v < kVectors; ++v) {
        store(out + row * Width + column + v * kLanes, at_least_zero(sums[row][v]));
      }
    }
  }
}

template <int Width>
void multiply_rows(const float* in, const float* weights, float* out, int64_t count) {
  constexpr int kAtATime = 8;
  int64_t row = 0;
  for (; row + kAtATime <= count; row += kAtATime) {
    multiply<Width, kAtATime>(in + row * Width, weights, out + row * Width);
  }
  for (; row < count; ++row) {
    multiply<Width, 1>(in + row * Width, weights, out + row * Width);
  }
}

/// A dense layer of each of `Pixels` parts of a row.
template <int Channels, int Pixels = 1>
Stage dense() {
  const auto weights = std::make_shared<std::vector<float>>(
      spread_numbers(Channels * Channels, 2 / std::sqrt(static_cast<float>(Channels))));
  return {.width = Channels * Pixels, .run = [weights](auto& in, auto& out, int64_t begin, int64_t end, int64_t) {
            multiply_rows<Channels>(in.at(begin), weights->data(), out.at(begin), (end - begin) * Pixels);
          }};
}

/// Each row by the root of the mean of its squares.
template <int Width>
Stage norm() {
  return {.width = Width, .run = [](auto& in, auto& out, int64_t begin, int64_t end, int64_t) {
            for (int64_t row = begin; row < end; ++row) {
              const float* const from = in.at(row);
              Vector sums = {};
              for (size_t i = 0; i < Width; i += kLanes) {
                sums += load(from + i) * load(from + i);
              }
              float sum = 0;
              for (size_t lane = 0; lane < kLanes; ++lane) {
                sum += sums[lane];
              }
              const float factor = 1 / std::sqrt(sum / Width + 1e-5f);
              for (size_t i = 0; i < Width; i += kLanes) {
                store(out.at(row) + i, load(from + i) * factor);
              }
            }
          }};
}

/// 3x3, each channel alone, zeros around the image. A row is one of an image of `Pixels` columns.
template <int Channels, int Pixels>
Stage depthwise() {
  const auto weights = std::make_shared<std::vector<float>>(spread_numbers(9 * Channels, 0.5f));
  return {.width = Channels * Pixels,
          .halo = 1,
          .run = [weights](auto& in, auto& out, int64_t begin, int64_t end, int64_t rows) {
            for (int64_t row = begin; row < end; ++row) {
              for (int x = 0; x < Pixels; ++x) {
                for (size_t channel = 0; channel < Channels; channel += kLanes) {
                  Vector sum = {};
                  for (int64_t y = std::max<int64_t>(row - 1, 0); y < std::min(row + 2, rows); ++y) {
                    const float* const line = in.at(y) + channel;
                    const float* const taps = weights->data() + (y - row + 1) * 3 * Channels + channel;
                    for (int i = -1; i <= 1; ++i) {
                      if (x + i >= 0 && x + i < Pixels) {
                        sum += load(line + (x + i) * Channels) * load(taps + (i + 1) * Channels);
                      }
                    }
                  }
                  store(out.at(row) + x * Channels + channel, at_least_zero(sum));
                }
              }
            }
          }};
}

}  // namespace

std::vector<Chain> chains() {
  return {{"dense_64", {dense<64>(), dense<64>(), dense<64>(), norm<64>()}},
          {"dense_256", {dense<256>(), dense<256>(), dense<256>(), norm<256>()}},
          {"depthwise_pointwise", {depthwise<32, 16>(), dense<32, 16>(), depthwise<32, 16>(), dense<32, 16>()}}};
}

}  // namespace bench
