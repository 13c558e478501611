// The emulated GPU computes what the PTX ISA says.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "emulated_gpu/emulated_driver.h"

namespace tenon::instructions_test {
namespace {

class EmulatedInstructions : public EmulatedDriver {
 protected:
  /// %r1 and %r2 of each thread from the two halves of `in`; %r3 is what it gives.
  static std::vector<uint32_t> of_words(const std::string& body, const std::vector<uint32_t>& x,
                                        const std::vector<uint32_t>& y) {
    std::vector<uint32_t> in = x;
    in.insert(in.end(), y.begin(), y.end());
    const Address a = upload(in);
    const Address b = upload(std::vector<uint32_t>(x.size(), 0));
    const std::string bytes = std::to_string(4 * x.size());
    EXPECT_EQ(run(kernel("mul.wide.u32 %rd1, %t, 4;\nadd.s64 %rd2, %a, %rd1;\nadd.s64 %rd3, %b, %rd1;\n"
                         "ld.global.u32 %r1, [%rd2];\nld.global.u32 %r2, [%rd2+" +
                         bytes + "];\n" + body + "\nst.global.u32 [%rd3], %r3;"),
                  a, b, static_cast<unsigned>(x.size())),
              "no error")
        << body;
    return download<uint32_t>(b, x.size());
  }
  static uint32_t of_one(const std::string& body, uint32_t x, uint32_t y = 0) { return of_words(body, {x}, {y})[0]; }
  static uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
};

TEST_F(EmulatedInstructions, Integers) {
  EXPECT_EQ(of_one("add.s32 %r3, %r1, %r2;", 0xffffffff, 3), 2u);
  EXPECT_EQ(of_one("mul.hi.s32 %r3, %r1, %r2;", 0xffffffff, 3), 0xffffffffu);
  EXPECT_EQ(of_one("mul.hi.u32 %r3, %r1, %r2;", 0xffffffff, 3), 2u);
  EXPECT_EQ(of_one("shr.s32 %r3, %r1, %r2;", 0x80000000, 40), 0xffffffffu);
  EXPECT_EQ(of_one("shl.b32 %r3, %r1, %r2;", 1, 32), 0u);
  EXPECT_EQ(of_one("rem.s32 %r3, %r1, %r2;", static_cast<uint32_t>(-7), 3), static_cast<uint32_t>(-1));
  EXPECT_EQ(of_one("bfe.s32 %r3, %r1, 4, 4;", 0xf0), 0xffffffffu);
  EXPECT_EQ(of_one("bfe.u32 %r3, %r1, 4, 4;", 0xf0), 0xfu);
  EXPECT_EQ(of_one("bfi.b32 %r3, %r1, %r2, 8, 4;", 0xab, 0xffffffff), 0xfffffbffu);
  EXPECT_EQ(of_one("prmt.b32 %r3, %r1, %r2, 0x5410;", 0x22221111, 0x44443333), 0x33331111u);
  EXPECT_EQ(of_one("shf.l.wrap.b32 %r3, %r1, %r2, 8;", 0xaa000000, 0x11), 0x11aau);
  EXPECT_EQ(of_one("clz.b32 %r3, %r1;", 1), 31u);
  EXPECT_EQ(of_one("cvt.s8.s32 %r3, %r1;", 0x1ff), 0xffffffffu) << "with its sign";
}

TEST_F(EmulatedInstructions, RoundingsAndWhatIsNoNumber) {
  const auto f = [](const char* name) { return "mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n" + std::string(name); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(of_one(f("cvt.rni.s32.f32 %r3, %f1;"), bits(2.5F)), 2u);
  EXPECT_EQ(of_one(f("cvt.rzi.s32.f32 %r3, %f1;"), bits(-2.5F)), static_cast<uint32_t>(-2));
  EXPECT_EQ(of_one(f("cvt.rmi.s32.f32 %r3, %f1;"), bits(-2.5F)), static_cast<uint32_t>(-3));
  EXPECT_EQ(of_one(f("cvt.rzi.s32.f32 %r3, %f1;"), bits(1e20F)), 0x7fffffffu);
  EXPECT_EQ(of_one(f("cvt.rzi.u32.f32 %r3, %f1;"), bits(-5.0F)), 0u);
  EXPECT_EQ(of_one(f("cvt.rzi.s32.f32 %r3, %f1;"), bits(nan)), 0u);
  EXPECT_EQ(of_one(f("max.f32 %f3, %f1, %f2;\nmov.b32 %r3, %f3;"), bits(nan), bits(2)), bits(2));
  EXPECT_EQ(of_one(f("min.f32 %f3, %f1, %f2;\nmov.b32 %r3, %f3;"), bits(0.0F), bits(-0.0F)), bits(-0.0F));
  EXPECT_TRUE(
      std::isnan(std::bit_cast<float>(of_one(f("max.NaN.f32 %f3, %f1, %f2;\nmov.b32 %r3, %f3;"), bits(nan), bits(2)))));
  EXPECT_EQ(of_one(f("setp.lt.f32 %p1, %f1, %f2;\nselp.u32 %r3, 1, 0, %p1;"), bits(nan), bits(2)), 0u);
  EXPECT_EQ(of_one(f("setp.ltu.f32 %p1, %f1, %f2;\nselp.u32 %r3, 1, 0, %p1;"), bits(nan), bits(2)), 1u);
  EXPECT_EQ(of_one(f("cvt.rn.f16.f32 %h1, %f1;\ncvt.u32.u16 %r3, %h1;"), bits(65520)), 0x7c00u);
  EXPECT_EQ(of_one(f("cvt.rn.f16.f32 %h1, %f1;\ncvt.u32.u16 %r3, %h1;"), bits(1.0F / (1 << 24))), 1u);
  EXPECT_EQ(of_one(f("cvt.rn.bf16.f32 %h1, %f1;\ncvt.u32.u16 %r3, %h1;"), 0x3f808000), 0x3f80u) << "to even";
  EXPECT_EQ(of_one(f("cvt.rn.bf16x2.f32 %r3, %f1, %f2;"), bits(1), bits(2)), 0x3f804000u) << "the first one above";
  EXPECT_EQ(of_one(f("ex2.approx.ftz.f32 %f3, %f1;\nmov.b32 %r3, %f3;"), bits(-130)), 0u) << "less than the least";
}

TEST_F(EmulatedInstructions, Shuffles) {
  std::vector<uint32_t> numbers(32);
  for (uint32_t i = 0; i < 32; ++i)
    numbers[i] = i;
  const std::vector<uint32_t> none(32, 0);
  const auto down = of_words("shfl.sync.down.b32 %r3, %r1, 4, 31, -1;", numbers, none);
  const auto up = of_words("shfl.sync.up.b32 %r3, %r1, 4, 0, -1;", numbers, none);
  const auto across = of_words("shfl.sync.bfly.b32 %r3, %r1, 5, 31, -1;", numbers, none);
  const auto one = of_words("shfl.sync.idx.b32 %r3, %r1, 7, 31, -1;", numbers, none);
  const auto halves = of_words("shfl.sync.idx.b32 %r3, %r1, 3, 4127, -1;", numbers, none);  // segments of 16
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(down[i], i + 4 < 32 ? i + 4 : i);
    EXPECT_EQ(up[i], i >= 4 ? i - 4 : i);
    EXPECT_EQ(across[i], i ^ 5);
    EXPECT_EQ(one[i], 7u);
    EXPECT_EQ(halves[i], i / 16 * 16 + 3);
  }
}

/// Fragments are laid by the ISA's formulas for the elements a thread holds: here by them turned round, from a place of
/// the matrix to thread and register.
class EmulatedMatrices : public EmulatedInstructions {
 protected:
  static constexpr size_t kWords = 4 + 2 + 4;

  /// Runs `instruction` on registers: %r1 to %r6 and sums in %f1 to %f4. `words` are those of all threads.
  static std::vector<float> multiply(const std::string& instruction, const std::vector<uint32_t>& words) {
    std::string body = "mul.wide.u32 %rd1, %t, 40;\nadd.s64 %rd2, %a, %rd1;\n";
    for (int i = 0; i < 6; ++i)
      body += "ld.global.u32 %r" + std::to_string(i + 1) + ", [%rd2+" + std::to_string(4 * i) + "];\n";
    for (int i = 0; i < 4; ++i)
      body += "ld.global.f32 %f" + std::to_string(i + 1) + ", [%rd2+" + std::to_string(24 + 4 * i) + "];\n";
    body += instruction + " {%f5, %f6, %f7, %f8}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};\n";
    body += "mul.wide.u32 %rd1, %t, 16;\nadd.s64 %rd3, %b, %rd1;\nst.global.v4.f32 [%rd3], {%f5, %f6, %f7, %f8};";
    const Address a = upload(words);
    const Address b = upload(std::vector<float>(128, 0));
    EXPECT_EQ(run(kernel(body), a, b, 32), "no error");
    return download<float>(b, 128);
  }

  /// `of_word` elements lie in a register; `place` puts a number's bits there.
  static void expect_product(const std::string& instruction, size_t depth, size_t of_word, uint32_t (*encode)(float)) {
    std::mt19937 random(3);
    std::uniform_int_distribution<int> small(-4, 4);
    std::vector<float> a(16 * depth), b(depth * 8), c(128);
    for (auto* const each : {&a, &b, &c}) {
      for (float& x : *each)
        x = static_cast<float>(small(random));
    }
    std::vector<uint32_t> words(32 * kWords, 0);
    const size_t half = depth / 2;  // of it lies in the first registers
    const auto put = [&](size_t thread, size_t word, size_t part, float value) {
      words[thread * kWords + word] |= encode(value) << (16 * part);
    };
    for (size_t row = 0; row < 16; ++row) {
      for (size_t k = 0; k < depth; ++k)
        put(row % 8 * 4 + k % half / of_word, row / 8 + k / half * 2, k % of_word, a[row * depth + k]);
    }
    for (size_t k = 0; k < depth; ++k) {
      for (size_t column = 0; column < 8; ++column)
        put(column * 4 + k % half / of_word, 4 + k / half, k % of_word, b[k * 8 + column]);
    }
    const auto sum_at = [](size_t row, size_t column) {
      return std::pair(row % 8 * 4 + column / 2, row / 8 * 2 + column % 2);
    };
    for (size_t row = 0; row < 16; ++row) {
      for (size_t column = 0; column < 8; ++column) {
        const auto [thread, word] = sum_at(row, column);
        words[thread * kWords + 6 + word] = bits(c[row * 8 + column]);
      }
    }
    const std::vector<float> found = multiply(instruction, words);
    for (size_t row = 0; row < 16; ++row) {
      for (size_t column = 0; column < 8; ++column) {
        float wanted = c[row * 8 + column];
        for (size_t k = 0; k < depth; ++k)
          wanted += a[row * depth + k] * b[k * 8 + column];
        const auto [thread, word] = sum_at(row, column);
        EXPECT_EQ(found[thread * 4 + word], wanted) << instruction << " at " << row << ", " << column;
      }
    }
  }
};

TEST_F(EmulatedMatrices, Multiply) {
  const std::string begin = "mma.sync.aligned.";
  expect_product(begin + "m16n8k8.row.col.f32.tf32.tf32.f32", 8, 1, [](float x) { return bits(x); });
  expect_product(begin + "m16n8k16.row.col.f32.bf16.bf16.f32", 16, 2, [](float x) { return bits(x) >> 16; });
  expect_product(begin + "m16n8k16.row.col.f32.f16.f16.f32", 16, 2, [](float x) -> uint32_t {
    if (x == 0) return 0;
    const int exponent = std::ilogb(x);
    const auto mantissa = static_cast<uint32_t>(std::ldexp(std::fabs(x), 10 - exponent)) & 0x3ff;
    return (x < 0 ? 0x8000u : 0u) | static_cast<uint32_t>(exponent + 15) << 10 | mantissa;
  });
}

/// Rows lie 16 bytes apart; thread t names row t.
TEST_F(EmulatedMatrices, AreLoaded) {
  std::vector<uint16_t> memory(256);
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<uint16_t>(i);
  for (const bool turned : {false, true}) {
    const Address a = upload(memory);
    const Address b = upload(std::vector<uint32_t>(128, 0));
    const std::string body =
        "mul.wide.u32 %rd1, %t, 16;\nadd.s64 %rd2, %a, %rd1;\nld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2];\n"
        "shl.b32 %r5, %t, 4;\nmov.u32 %r6, s;\nadd.s32 %r6, %r6, %r5;\nst.shared.v4.u32 [%r6], {%r1, %r2, %r3, %r4};\n"
        "bar.sync 0;\nldmatrix.sync.aligned.m8n8.x4" +
        std::string(turned ? ".trans" : "") +
        ".shared.b16 {%r7, %r8, %r9, %r10}, [%r6];\n"
        "add.s64 %rd3, %b, %rd1;\nst.global.v4.u32 [%rd3], {%r7, %r8, %r9, %r10};";
    ASSERT_EQ(run(kernel(body, ".shared .align 16 .b8 s[512];"), a, b, 32), "no error");
    const auto found = download<uint16_t>(b, 256);
    for (size_t thread = 0; thread < 32; ++thread) {
      for (size_t matrix = 0; matrix < 4; ++matrix) {
        for (size_t part = 0; part < 2; ++part) {
          const size_t row = turned ? thread % 4 * 2 + part : thread / 4;
          const size_t column = turned ? thread / 4 : thread % 4 * 2 + part;
          EXPECT_EQ(found[thread * 8 + matrix * 2 + part], memory[matrix * 64 + row * 8 + column]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::instructions_test
