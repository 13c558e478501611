// Random values as pure functions: the same (key, counter) gives the same values, on every machine. A program draws
// fresh ones by a fresh counter, or a fresh key.
#pragma once

#include "tenon/ops.h"

namespace tenon {

/// Uniform bits, u32 or u64; key and counter are u64 scalars.
///
/// The generator is Philox-4x32 with 10 rounds. Its block number b, which has four 32-bit words, comes from the
/// counter words (b mod 2^32, b / 2^32, counter mod 2^32, counter / 2^32) and the key words (key mod 2^32,
/// key / 2^32). Element i, in row-major order, is word i mod 4 of block i / 4; a u64 element i is the words 2i (low)
/// and 2i + 1 (high). So an element depends on its row-major position and not on the sizes: a longer draw begins with a
/// shorter one.
Value random_bits(const Value& key, const Value& counter, const Shape& shape);

/// Uniform in [low, high), `high` itself never; of the float dtype of `shape`. f16, bf16 and f32
/// take the high bits of one u32 for each element, as many as they can tell apart below 1, and f64 those of a u64.
Value uniform(const Value& key, const Value& counter, const Shape& shape, double low = 0, double high = 1);

/// Normally distributed (Box-Muller: each element takes two words, or two u64 for f64). f16 and bf16 are computed in
/// f32.
Value normal(const Value& key, const Value& counter, const Shape& shape, double mean = 0, double deviation = 1);

/// True with `probability`, a number or a Value of f32 that broadcasts to the axes. 0 is never, 1 is always.
Value bernoulli(const Value& key, const Value& counter, const std::vector<Axis>& axes,
                const Operand& probability = 0.5);

/// x with each element replaced by 0 with probability `rate`, in [0, 1], and the others divided by 1 - rate.
Value dropout(const Value& x, double rate, const Value& key, const Value& counter);

/// 0 ... count-1 in random order, i64.
Value permutation(const Value& key, const Value& counter, const Extent& count);

}  // namespace tenon
