// Arrays of numbers that are the same in every run.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tenon/array.h"

namespace bench {

/// In [-2, 2).
inline tenon::Array numbers(std::vector<int64_t> dims) {
  tenon::Array array = tenon::Array::uninitialized(tenon::f32, std::move(dims));
  uint32_t state = 1;
  for (float& each : array.mutable_values<float>()) {
    state = state * 1664525 + 1013904223;
    each = static_cast<float>(state >> 8) * 0x1p-22f - 2;
  }
  return array;
}

}  // namespace bench
