// Arrays for tests: random ones, special ones, and comparison that explains itself.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "support/error_text.h"
#include "tenon/array.h"

namespace tenon {

/// Every dtype, for loops over the table.
std::vector<Dtype> all_dtypes();

/// Uniform in [low, high) (converted: integers truncate, bool is "not zero").
Array random_array(Dtype dtype, std::vector<int64_t> dims, std::mt19937_64& rng, double low = -4, double high = 4);

/// Equal dtype and sizes; elements equal, both NaN, or within absolute + relative * |expected|.
testing::AssertionResult close(const Array& actual, const Array& expected, double relative = 0, double absolute = 0);

/// Equal to the bit.
testing::AssertionResult same(const Array& actual, const Array& expected);

/// f32: 0, 1, 2, ...
Array counted(std::vector<int64_t> dims);

}  // namespace tenon
