// Products by matrices of a few bits, by all kernels that this processor can run, against loops that are obviously
// right: bit for bit where rows are rounded to bytes, since all that is left to rounding then is one sum in a given
// order.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "library/few_bits/product.h"

namespace tenon::library::few_bits::few_bits_test {
namespace {

Pool& pool() {
  static Pool three(3);
  return three;
}

struct Sizes {
  int64_t bits = 4;
  int64_t block = 32;
  int64_t rows = 1;
  int64_t depth = 64;
  int64_t columns = 32;
  bool has_zeros = false;
  NumberCode code = NumberCode::integer;

  std::string to_string() const {
    return fmt::format("{} bits {}, blocks of {}, {} x {} x {}{}", bits, name_of(code), block, rows, depth, columns,
                       has_zeros ? ", with zeros" : "");
  }
};

class Case {
 public:
  explicit Case(const Sizes& sizes) : s(sizes) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<float> real(-2, 2);
    const auto count = static_cast<size_t>(panels() * blocks() * kPanel);
    x.resize(static_cast<size_t>(s.rows * s.depth));
    words.resize(static_cast<size_t>(panels() * blocks() * s.block * s.bits / 8 * kPanel));
    scales.resize(count);
    for (float& each : x)
      each = real(random);
    for (std::byte& each : words)
      each = static_cast<std::byte>(random());
    for (float& each : scales)
      each = real(random) / 8;
    if (s.has_zeros) {
      zeros.resize(count);
      for (uint8_t& each : zeros)
        each = static_cast<uint8_t>(random() % (uint64_t{1} << s.bits));
    }
  }

  int64_t blocks() const { return (s.depth + s.block - 1) / s.block; }
  int64_t panels() const { return (s.columns + kPanel - 1) / kPanel; }

  std::vector<float> run(const Kernels& kernels, bool rounds, int threads) const {
    std::vector<float> y(static_cast<size_t>(s.rows * s.columns), -1);
    multiply(kernels,
             {.x = x.data(),
              .words = words.data(),
              .scales = scales.data(),
              .zeros = zeros.empty() ? nullptr : zeros.data(),
              .y = y.data(),
              .rows = s.rows,
              .depth = s.depth,
              .columns = s.columns,
              .blocks = blocks(),
              .block_words = s.block * s.bits / 32,
              .bits = s.bits,
              .rounds = rounds},
             {.pool = pool(), .threads = threads});
    return y;
  }

  size_t of_block(int64_t block, int64_t column) const {
    return static_cast<size_t>((column / kPanel * blocks() + block) * kPanel + column % kPanel);
  }

  /// The number at place `i` of a block, less its zero point; of floats the code.
  int number(int64_t block, int64_t i, int64_t column) const {
    const int64_t numbers = 32 / s.bits;
    const int64_t word = (column / kPanel * blocks() + block) * (s.block / numbers) + i / numbers;
    const int64_t bit = i % numbers * s.bits;
    const std::byte byte = words[static_cast<size_t>((word * kPanel + column % kPanel) * 4 + bit / 8)];
    const int value = (std::to_integer<int>(byte) >> (bit % 8)) & ((1 << s.bits) - 1);
    if (s.code != NumberCode::integer) return value;
    return value - (zeros.empty() ? 1 << (s.bits - 1) : static_cast<int>(zeros[of_block(block, column)]));
  }

  float element(int64_t row, int64_t block, int64_t i) const {
    const int64_t at = block * s.block + i;
    return at < s.depth ? x[static_cast<size_t>(row * s.depth + at)] : 0;
  }

  float rounded(int64_t row, int64_t column, bool is_fused) const {
    float sum = 0;
    for (int64_t block = 0; block < blocks(); ++block) {
      float most = 0;
      for (int64_t i = 0; i < s.block; ++i)
        most = std::max(most, std::abs(element(row, block, i)));
      const float inverse = most >= 1e-36F ? 127 / most : 0;
      int64_t dots = 0;
      for (int64_t i = 0; i < s.block; ++i) {
        dots += std::lrint(element(row, block, i) * inverse) * number(block, i, column);
      }
      const float scale = scales[of_block(block, column)] * (most / 127);
      sum = is_fused ? std::fma(static_cast<float>(dots), scale, sum) : sum + static_cast<float>(dots) * scale;
    }
    return sum;
  }

  /// In f64, and the sum of magnitudes.
  std::pair<double, double> exact(int64_t row, int64_t column) const {
    double sum = 0;
    double all = 0;
    for (int64_t block = 0; block < blocks(); ++block) {
      for (int64_t i = 0; i < s.block; ++i) {
        const double product =
            static_cast<double>(element(row, block, i)) * static_cast<double>(scales[of_block(block, column)]);
        sum += product * number(block, i, column);
        all += std::abs(product) * (1 << s.bits);
      }
    }
    return {sum, all};
  }

  Sizes s;
  std::vector<float> x;
  std::vector<std::byte> words;
  std::vector<float> scales;
  std::vector<uint8_t> zeros;
};

std::vector<Sizes> all_sizes() {
  std::vector<Sizes> all;
  for (const int64_t bits : {2, 4, 8}) {
    for (const int64_t block : {16, 32, 64, 128, 256}) {
      for (const bool zeros : {false, true}) {
        all.push_back({bits, block, 1, 2 * block, 64, zeros});
        all.push_back({bits, block, 3, 3 * block - 5, 33, zeros});
        all.push_back({bits, block, 9, block + 1, 1, zeros});
      }
    }
    for (int64_t rows = 2; rows <= 14; rows += 3)
      all.push_back({bits, 32, rows, 96, 70, rows % 2 == 0});
    all.push_back({bits, 24, 2, 50, 40, true});
    all.push_back({bits, 32, 700, 1024, 33, false});  // more rows than a cache has room for
  }
  return all;
}

TEST(FewBits, RoundedRowsHaveTheBitsOfPlainLoops) {
  for (const Sizes& sizes : all_sizes()) {
    if (sizes.block * sizes.bits % 32 != 0) continue;
    const Case each(sizes);
    for (const Kernels& kernels : kernels_for({sizes.bits})) {
      const std::vector<float> y = each.run(kernels, true, 1);
      EXPECT_EQ(y, each.run(kernels, true, 3)) << kernels.name << ", " << sizes.to_string();
      int64_t wrong = 0;
      for (int64_t row = 0; row < sizes.rows; row += sizes.rows > 20 ? 37 : 1) {
        for (int64_t column = 0; column < sizes.columns; ++column) {
          const float expected = each.rounded(row, column, kernels.is_fused);
          wrong += y[static_cast<size_t>(row * sizes.columns + column)] == expected ? 0 : 1;
        }
      }
      EXPECT_EQ(wrong, 0) << kernels.name << ", " << sizes.to_string();
    }
  }
}

/// Each code alone, and zeros beside it: what comes is the number that the code means, to the last bit.
TEST(FewBits, FloatsOfFewBitsAreWhatTheirCodesMean) {
  for (int i = 1; i <= static_cast<int>(NumberCode::e5m2fnuz); ++i) {
    const auto code = static_cast<NumberCode>(i);
    const int bits = layout_of(code).bits();
    const std::vector<float> values = values_of(code);
    ASSERT_EQ(values.size(), size_t{1} << bits);
    for (const Kernels& kernels : kernels_for({bits, code})) {
      for (size_t at = 0; at < values.size(); ++at) {
        Case each({.bits = bits, .block = 16, .rows = 3, .depth = 16, .columns = 32, .code = code});
        std::fill(each.words.begin(), each.words.end(), std::byte(bits == 4 ? at | at << 4 : at));
        std::fill(each.scales.begin(), each.scales.end(), 1.0F);
        std::fill(each.x.begin(), each.x.end(), 0.0F);
        each.x[0] = 1;
        each.x[16 + 5] = 1;
        each.x[32 + 15] = 1;
        for (const float y : each.run(kernels, false, 1)) {
          EXPECT_TRUE(std::isfinite(values[at]) ? y == values[at] : !std::isfinite(y))
              << kernels.name << ", " << name_of(code) << " " << at << ": " << y << ", not " << values[at];
        }
      }
      // Infinite times 1 stays infinite where nothing is beside it.
      if (code == NumberCode::e5m2) {
        EXPECT_TRUE(std::isinf(values[0x7c]) && std::isinf(values[0xfc]) && std::isnan(values[0x7d]));
      }
    }
  }
  EXPECT_EQ(values_of(NumberCode::e2m1),
            (std::vector<float>{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}));
  EXPECT_EQ(values_of(NumberCode::e4m3fn)[0x7e], 448);
  EXPECT_EQ(values_of(NumberCode::e4m3fnuz)[0x7f], 240);
  EXPECT_EQ(values_of(NumberCode::e5m2)[0x7b], 57344);
  EXPECT_EQ(values_of(NumberCode::e5m2fnuz)[1], 0x1p-17F);
}

TEST(FewBits, ProductsOfFloatsOfFewBitsAreAsCloseAsSumsAre) {
  for (const NumberCode code : {NumberCode::e2m1, NumberCode::e4m3fn, NumberCode::e5m2fnuz}) {
    const int bits = layout_of(code).bits();
    const std::vector<float> values = values_of(code);
    for (const Sizes& sizes : {Sizes{bits, 32, 1, 96, 70, false, code}, Sizes{bits, 16, 7, 50, 33, false, code},
                               Sizes{bits, 256, 3, 300, 1, false, code}}) {
      Case each(sizes);
      const auto mean = [&](int64_t block, int64_t i, int64_t column) {
        const float value = values[static_cast<size_t>(each.number(block, i, column))];
        return static_cast<double>(value);
      };
      for (std::byte& word : each.words)  // no NaN, and no sums of numbers of all sizes
        word = bits == 8 ? (word & std::byte{0x8f}) | std::byte{0x30} : word;
      for (const Kernels& kernels : kernels_for({bits, code})) {
        const std::vector<float> y = each.run(kernels, false, 1);
        EXPECT_EQ(y, each.run(kernels, false, 3)) << kernels.name << ", " << sizes.to_string();
        for (int64_t row = 0; row < sizes.rows; ++row) {
          for (int64_t column = 0; column < sizes.columns; ++column) {
            double sum = 0;
            double all = 0;
            for (int64_t k = 0; k < sizes.depth; ++k) {
              const int64_t block = k / sizes.block;
              const double product = static_cast<double>(each.element(row, block, k % sizes.block)) *
                                     static_cast<double>(each.scales[each.of_block(block, column)]) *
                                     mean(block, k % sizes.block, column);
              sum += product;
              all += std::abs(product);
            }
            EXPECT_NEAR(y[static_cast<size_t>(row * sizes.columns + column)], sum, 1e-5 * all)
                << kernels.name << ", " << sizes.to_string() << " at " << row << ", " << column;
          }
        }
      }
    }
  }
}

TEST(FewBits, ExactRowsAreAsCloseAsSumsOfFloatsAre) {
  for (const Sizes& sizes : all_sizes()) {
    if (sizes.block * sizes.bits % 32 != 0) continue;
    const Case each(sizes);
    for (const Kernels& kernels : kernels_for({sizes.bits})) {
      const std::vector<float> y = each.run(kernels, false, 1);
      EXPECT_EQ(y, each.run(kernels, false, 3)) << kernels.name << ", " << sizes.to_string();
      for (int64_t row = 0; row < sizes.rows; row += sizes.rows > 20 ? 37 : 1) {
        for (int64_t column = 0; column < sizes.columns; ++column) {
          const auto [expected, all] = each.exact(row, column);
          EXPECT_NEAR(y[static_cast<size_t>(row * sizes.columns + column)], expected, 1e-6 * all)
              << kernels.name << ", " << sizes.to_string() << " at " << row << ", " << column;
        }
      }
    }
  }
}

/// A row alone has the bits that it has among others: a batch changes no text.
TEST(FewBits, RowsDoNotDependOnOtherRows) {
  const Case many({4, 32, 11, 100, 40, true});
  Case one({4, 32, 1, 100, 40, true});
  one.words = many.words;
  one.scales = many.scales;
  one.zeros = many.zeros;
  for (const Kernels& kernels : kernels_for({4})) {
    for (const bool rounds : {false, true}) {
      const std::vector<float> all = many.run(kernels, rounds, 2);
      for (int64_t row = 0; row < many.s.rows; ++row) {
        one.x.assign(many.x.begin() + row * 100, many.x.begin() + (row + 1) * 100);
        EXPECT_EQ(one.run(kernels, rounds, 1), std::vector<float>(all.begin() + row * 40, all.begin() + (row + 1) * 40))
            << kernels.name;
      }
    }
  }
}

TEST(FewBits, NumbersThatAreNoneShow) {
  Case each({4, 32, 4, 96, 32, false});
  each.x[40] = std::numeric_limits<float>::quiet_NaN();
  each.x[96 + 70] = std::numeric_limits<float>::infinity();
  std::fill(each.x.begin() + 2 * 96, each.x.begin() + 3 * 96, 0.0F);
  std::fill(each.x.begin() + 3 * 96, each.x.end(), 1e-40F);
  for (const Kernels& kernels : kernels_for({4})) {
    const std::vector<float> y = each.run(kernels, true, 1);
    for (size_t column = 0; column < 32; ++column) {
      EXPECT_TRUE(std::isnan(y[column])) << kernels.name;
      EXPECT_FALSE(std::isfinite(y[32 + column])) << kernels.name;
      EXPECT_EQ(y[64 + column], 0) << kernels.name;
      EXPECT_EQ(y[96 + column], 0) << kernels.name;
    }
  }
}

}  // namespace
}  // namespace tenon::library::few_bits::few_bits_test
