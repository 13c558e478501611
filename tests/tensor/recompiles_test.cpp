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
  EXPECT_EQ(why(), "number: constant, read by broadcast has f32[] {3}, was f32[] {2}");
  look(x * 2);
  EXPECT_EQ(why(), "") << "found";
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
