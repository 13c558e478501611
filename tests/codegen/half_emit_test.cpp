// f16 and bf16 as emitted: every word widens exactly, and floats round as base/convert.h rounds them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "base/convert.h"
#include "codegen/scalar_loops.h"

namespace tenon::codegen::half_emit_test {
namespace {

bool is_same(float actual, float expected) {
  return std::isnan(expected) ? std::isnan(actual)
                              : std::bit_cast<uint32_t>(actual) == std::bit_cast<uint32_t>(expected);
}

/// Half types, with and without instructions of the target that convert f16.
class HalfEmit : public testing::TestWithParam<Dtype> {
 protected:
  std::vector<ScalarLoopOptions> options() const {
    std::vector<ScalarLoopOptions> result = {{.lanes = 0}, {.lanes = 1}, {.lanes = 4}, {.lanes = 16}, {.lanes = 64}};
    if (jit_.target().f16_convert) {
      for (size_t i = result.size(); i-- > 0;) {
        result.push_back(result[i]);
        result.back().math.f16 = true;
      }
    }
    return result;
  }

  template <class Half16>
  void expect_widening(const ScalarLoopOptions& options) {
    std::vector<uint16_t> words(1 << 16);
    std::iota(words.begin(), words.end(), uint16_t{0});
    std::vector<float> wide(words.size());
    const ScalarProgram program = flatten({expr::cast(expr::argument(0, GetParam()), Dtype::f32)});
    run(program, options, words.data(), wide.data(), words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      ASSERT_TRUE(is_same(wide[i], static_cast<float>(Half16::from_bits(words[i]))))
          << fmt::format("word {:04x}, lanes {}, f16 {}", words[i], options.lanes, options.math.f16);
    }
  }

  template <class Half16>
  void expect_rounding(const ScalarLoopOptions& options) {
    // Every half and its neighbourhood: exact ones, ties to even and to odd, and just beside them.
    std::vector<float> x;
    for (uint32_t word = 0; word < (1U << 16); ++word) {
      const auto middle = std::bit_cast<uint32_t>(static_cast<float>(Half16::from_bits(static_cast<uint16_t>(word))));
      const uint32_t tie = GetParam() == Dtype::bf16 ? 1U << 15 : 1U << 12;
      for (const uint32_t offset : {0U, 1U, tie - 1, tie, tie + 1, 2 * tie - 1, 0x12345U}) {
        x.push_back(std::bit_cast<float>(middle + offset));
      }
    }
    std::mt19937_64 rng(3);
    while (x.size() % 64 != 0 || x.size() < (1 << 19)) {
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(rng())));
    }
    const Expr argument = expr::argument(0, Dtype::f32);
    const ScalarProgram stored = flatten({expr::cast(argument, GetParam())});
    const ScalarProgram kept = flatten({expr::cast(expr::cast(argument, GetParam()), Dtype::f32)});
    std::vector<uint16_t> words(x.size());
    std::vector<float> rounded(x.size());
    run(stored, options, x.data(), words.data(), x.size());
    run(kept, options, x.data(), rounded.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const Half16 expected(x[i]);
      ASSERT_EQ(words[i], expected.bits) << fmt::format("{:a}, lanes {}, f16 {}", x[i], options.lanes,
                                                        options.math.f16);
      ASSERT_TRUE(is_same(rounded[i], static_cast<float>(expected)))
          << fmt::format("{:a}, lanes {}", x[i], options.lanes);
    }
  }

 private:
  void run(const ScalarProgram& program, const ScalarLoopOptions& options, const void* x, void* y, size_t count) {
    const void* const args[] = {x};
    void* const results[] = {y};
    compile_loop(jit_, program, options)(args, results, static_cast<int64_t>(count));
  }

  Jit jit_{loop_options()};
};

TEST_P(HalfEmit, EveryWordWidensExactly) {
  for (const ScalarLoopOptions& each : options()) {
    visit_dtype(GetParam(), [&]<class T>() {
      if constexpr (is_half_type<T>) {
        expect_widening<T>(each);
      }
    });
  }
}

TEST_P(HalfEmit, RoundsToTheBitsOfConvert) {
  for (const ScalarLoopOptions& each : options()) {
    visit_dtype(GetParam(), [&]<class T>() {
      if constexpr (is_half_type<T>) {
        expect_rounding<T>(each);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, HalfEmit, testing::Values(Dtype::f16, Dtype::bf16),
                         [](const auto& row) { return std::string(name(row.param)); });

}  // namespace
}  // namespace tenon::codegen::half_emit_test
