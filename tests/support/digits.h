// A tiny data set: digits drawn from a 5 x 7 font, shifted, dimmed and noisy, so that no two images are equal.
#pragma once

#include <random>

#include "tenon/array.h"

namespace tenon {

struct Digits {
  Array images;  // f32[count, 1, 12, 12]
  Array labels;  // i64[count]
};

Digits draw_digits(int64_t count, std::mt19937_64& rng);

}  // namespace tenon
