// Why a program did not serve again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"

namespace tenon::recompiles_test {
namespace {

struct Recompiles : testing::Test {
  void SetUp() override {
    clear_programs();
    clear_realizations();
  }

  static std::string why() { return realizations().back().why; }
  /// All looks are from this line.
  static void look(const Tensor& tensor) { tensor.to_array(); }
};

TEST_F(Recompiles, ANumber) {
  const Tensor x = tensor(counted({4}));
  look(x * 2);
  EXPECT_EQ(why(), "") << "nothing ran here before";
  look(x * 3);
  EXPECT_EQ(why(), "number: constant, read by broadcast has f32[] {3}, was f32[] {2}; it is an input from now on");
  look(x * 4);
  EXPECT_EQ(why(), "") << "found: the number is an input";
  EXPECT_EQ(realization_counts().recompiles, 1);
}

TEST_F(Recompiles, ASize) {
  look(tensor(counted({4})).exp());
  look(tensor(counted({5})).exp());
  EXPECT_EQ(why(), "size: an input is f32[5], was f32[4], read by exp");
}

TEST_F(Recompiles, TheStructure) {
  const Tensor x = tensor(counted({4}));
  look(x.exp());
  look(x.tanh());
  EXPECT_EQ(why(), "structure: operation 1 is tanh, was exp");
  look(x.tanh().exp());
  EXPECT_EQ(why(), "structure: 3 operations and inputs, were 2; the first one more is exp");
}

TEST_F(Recompiles, NumbersThatChangeBecomeInputs) {
  const Tensor x = tensor(counted({4}));
  for (int i = 0; i < 20; ++i) {
    const Array got = (x * (0.5 * i + 0.25) + 1).to_array();
    for (int64_t k = 0; k < 4; ++k) {
      EXPECT_EQ(got.at(k), static_cast<double>(k) * (0.5 * i + 0.25) + 1) << i;
    }
  }
  EXPECT_EQ(realization_counts().compiles, 2) << "one of the first number, one for all others";
}

TEST_F(Recompiles, NumbersThatChangeAndSizesThatChange) {
  for (int i = 1; i < 20; ++i) {
    const Tensor x = tensor(counted({i % 7 + 2, 4}));
    const double got = (x.sum() * (1.0 / i)).item();
    const double n = 4.0 * (i % 7 + 2);
    EXPECT_NEAR(got, n * (n - 1) / 2 / i, 1e-3) << i;
  }
  EXPECT_LE(realization_counts().compiles, 3);
}

TEST_F(Recompiles, OneIntegerIsComputedWithoutACompileAtFirst) {
  for (int64_t n = 1; n <= 34; ++n) {
    const Tensor x = tensor(Array(Dtype::i64, {n + 1}));
    EXPECT_EQ((x + 1).sum().item(), static_cast<double>(n + 1));
    EXPECT_EQ(realization_counts().compiles, n <= 32 ? 0 : 1) << n << ": a loop is compiled, for all sizes";
  }
  EXPECT_EQ(realizations().front().kernels, 0);
}

TEST_F(Recompiles, ManyIntegersAndFloatsAreCompiledAtOnce) {
  const Tensor x = tensor(Array(Dtype::i64, {100000}));
  EXPECT_EQ((x + 1).sum().item(), 100000);
  EXPECT_EQ(realization_counts().compiles, 1);
  EXPECT_EQ((tensor(counted({4})) + 1).sum().item(), 10);
  EXPECT_EQ(realization_counts().compiles, 2);
}

TEST_F(Recompiles, AreWrittenWhereThatIsAskedFor) {
  const Tensor x = tensor(counted({4}));
  log_recompiles(true);
  testing::internal::CaptureStderr();
  look(x * 5);
  look(x * 6);
  look(x * 6);
  const std::string said = testing::internal::GetCapturedStderr();
  log_recompiles(false);
  EXPECT_TRUE(mentions(said, {"tenon: compiled again at recompiles_test.cpp:", "number: constant, read by broadcast"}));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
}

}  // namespace
}  // namespace tenon::recompiles_test
