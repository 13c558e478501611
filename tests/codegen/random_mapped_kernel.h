// Random kernels mapped to blocks of threads, whose results are the same in any order that barriers allow.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Makes the text of one kernel of a seed. Its size is `rows`, one block each. Stages of i32 hand rows on in block
/// scratch, with a barrier between; threads read there what others wrote. Stages may reduce over the block, too.
class RandomMappedKernel {
 public:
  explicit RandomMappedKernel(uint64_t seed) : rng_(seed) {}

  std::string make() {
    const std::vector<std::vector<int>> shapes = {{2}, {3}, {32}, {33}, {64}, {4, 8}, {5, 3}, {2, 2, 4}};
    shape_ = shapes[rng_() % shapes.size()];
    std::string axes = "b: rows blocks";
    for (size_t i = 0; i < shape_.size(); ++i) {
      threads_ *= shape_[i];
      axes += fmt::format("   t{}: {} threads", i, shape_[i]);
    }
    const int stages = 2 + pick(3);
    std::string body;
    for (int stage = 0; stage < stages; ++stage) {
      body += made_stage(stage, stage + 1 == stages);
    }
    return fmt::format(R"(kernel random_mapped
  axes    {0}   k: {1}
  buffers b0 in i32[{1}*rows]   b1 out i32[{1}*rows]   b2 block scratch i32[{1}]   b3 block scratch i32[{1}]
  phase grid(b)
{2})",
                       axes, threads_, body);
  }

 private:
  int pick(int count) { return static_cast<int>(rng_() % static_cast<uint64_t>(count)); }

  /// The number of a thread, or counted from the end.
  std::string thread(bool from_end) const {
    std::string sum;
    int distance = threads_;
    for (size_t i = 0; i < shape_.size(); ++i) {
      distance /= shape_[i];
      sum += from_end ? (i == 0 ? "-" : " - ") : (i == 0 ? "" : " + ");
      sum += distance == 1 ? fmt::format("t{}", i) : fmt::format("{}*t{}", distance, i);
    }
    return from_end ? fmt::format("{} + {}", sum, threads_ - 1) : sum;
  }

  std::string made_stage(int stage, bool is_last) {
    constexpr std::string_view kOps[] = {"sum", "max", "min", "product"};
    const bool reduces = !is_last && pick(2) == 0;
    std::string text;
    std::string margin(4, ' ');
    for (size_t i = 0; i < shape_.size(); ++i) {
      text += fmt::format("{}loop t{}{}\n", margin, i, i == 0 && reduces ? fmt::format(" begins a{}", fed_) : "");
      margin += "  ";
    }
    const auto line = [&](const std::string& what) { text += margin + what + "\n"; };
    const auto define = [&](const std::string& what) {
      line(fmt::format("v{} = {}", values_, what));
      return values_++;
    };
    const int before = 3 - stage % 2;  // the scratch of the stage before
    int value = 0;
    if (stage == 0) {
      value = define(fmt::format("load b0[{}*b + {}]", threads_, thread(false)));
    } else if (pick(2) == 0) {
      value = define(fmt::format("load b{}[{}]", before, thread(true)));
    } else {
      const int accumulator = fed_ + 1;
      line(fmt::format("loop k begins a{}", accumulator));
      line(fmt::format("  v{} = load b{}[k]", values_, before));
      line(fmt::format("  a{} sum= v{}", accumulator, values_));
      ++values_;
      value = define(fmt::format("result a{}", accumulator));
    }
    const int constant = define(fmt::format("constant i32 {}", 1 + pick(7)));
    value = define(fmt::format("{} v{}, v{}", pick(2) == 0 ? "mul" : "bit_xor", value, constant));
    if (reduced_ >= 0) {
      value = define(fmt::format("sub v{}, v{}", value, reduced_));
    }
    line(is_last ? fmt::format("b1[{}*b + {}] = v{}", threads_, thread(false), value)
                 : fmt::format("b{}[{}] = v{}", 2 + stage % 2, thread(false), value));
    if (reduces) {
      line(fmt::format("a{} {}= v{}", fed_, kOps[pick(4)], value));
      reduced_ = values_++;
      text += fmt::format("    v{} = result a{}\n", reduced_, fed_);
    }
    fed_ += 2;
    return text + (is_last ? "" : "    barrier\n");
  }

  std::mt19937_64 rng_;
  std::vector<int> shape_;
  int threads_ = 1;
  int values_ = 0;
  int fed_ = 0;       // accumulators of the stages before
  int reduced_ = -1;  // the value of a stage before, of the whole block; -1: none
};

}  // namespace tenon
