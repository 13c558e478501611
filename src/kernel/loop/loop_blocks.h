// Typed loops over the lanes of a block: memory and accumulators. Registers hold compute dtypes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// Elements start, start + stride, ... of a buffer.
struct Strided {
  int64_t start = 0;
  int64_t stride = 0;
};

void load_block(Dtype dtype, const std::byte* buffer, Strided at, int64_t lanes, std::byte* target);
void store_block(Dtype dtype, std::byte* buffer, Strided at, int64_t lanes, const std::byte* value);

/// Lane i is element index[i] where active[i]; elsewhere a load gives 0 and a store does nothing.
void load_lanes(Dtype dtype, const std::byte* buffer, const int64_t* index, const bool* active, int64_t lanes,
                std::byte* target);
void store_lanes(Dtype dtype, std::byte* buffer, const int64_t* index, const bool* active, int64_t lanes,
                 const std::byte* value);

/// The first element to lanes 1 and on.
void splat(Dtype dtype, std::byte* value, int64_t lanes);

/// What an accumulator holds while its loop runs, for one lane or for each: floats in f64, others in their dtype.
/// Positions are used by argmax and argmin alone.
struct AccumulatorState {
  std::byte* values = nullptr;
  int64_t* positions = nullptr;
};

/// How far apart the values of two states lie.
int64_t state_bytes(const Accumulator& accumulator);

void begin(const Accumulator& accumulator, AccumulatorState state, int64_t states);
/// Lane i into state i, or all lanes one after the other into the only one.
void accumulate(const Accumulator& accumulator, AccumulatorState state, bool per_lane, const std::byte* input,
                const int64_t* positions, int64_t lanes);
/// Many states, which are parts of one, become the first: what Accumulator says of threads.
void combine_parts(const Accumulator& accumulator, AccumulatorState state, int64_t parts);
void finish(const Accumulator& accumulator, AccumulatorState state, int64_t states, std::byte* target);

}  // namespace tenon::loops
