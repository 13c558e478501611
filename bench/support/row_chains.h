// Chains of stages over rows that take no compiler: plain loops over vectors, to measure ways to run them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// Rows of a buffer in memory, of which the first is row `first` of the whole.
struct Rows {
  float* data = nullptr;
  int64_t width = 0;
  int64_t first = 0;
  float* at(int64_t row) const { return data + (row - first) * width; }
};

/// Computes rows [begin, end) of `out`, of a chain of `rows` rows. They read rows [begin - halo, end + halo) of `in`,
/// as far as there are such rows.
struct Stage {
  int64_t width = 0;  // floats of a row of its result
  int64_t halo = 0;
  std::function<void(const Rows& in, const Rows& out, int64_t begin, int64_t end, int64_t rows)> run;
};

struct Chain {
  std::string name;
  std::vector<Stage> stages;
};

/// Three dense layers and a norm, 64 and 256 wide; depthwise 3x3 and pointwise convolutions, twice.
std::vector<Chain> chains();

/// In [-scale, scale), the same in every run.
std::vector<float> spread_numbers(int64_t count, float scale);

}  // namespace bench
