// What is recorded, or made, in another way where it is refused; and what is an error at once.
#include <gtest/gtest.h>

#include "base/fail.h"
#include "base/refused.h"
#include "tenon/tenon.h"
#include "tensor/record/record.h"
#include "tensor/record/symbols.h"

namespace tenon::tensors::refusals_test {
namespace {

Tensor with_symbols() { return tensor(Array(f32, {3, 4}), {symbol("refused_rows", 3), 4}); }

TEST(Refusals, OfSymbolsAreRecordedWithNumbers) {
  const std::vector<Tensor> operands = {with_symbols()};
  std::vector<Sizes> asked;
  const std::vector<Tensor> results = record(operands, [&](Sizes sizes) -> std::vector<Value> {
    asked.push_back(sizes);
    if (sizes == Sizes::symbols) {
      refuse("only numbers will do");
    }
    return {read(operands[0], sizes) + 1.0};
  });
  EXPECT_EQ(asked, (std::vector<Sizes>{Sizes::symbols, Sizes::numbers}));
  EXPECT_EQ(results[0].shape().to_string(), "f32[3, 4]");
}

TEST(Refusals, OfNumbersAreFinal) {
  const std::vector<Tensor> operands = {tensor(Array(f32, {3, 4}))};
  int calls = 0;
  const auto record_it = [&] {
    record(operands, [&](Sizes) -> std::vector<Value> {
      ++calls;
      refuse("no sizes will do");
    });
  };
  EXPECT_THROW(record_it(), Refused);
  EXPECT_EQ(calls, 1);
}

TEST(Refusals, AreNotWhateverElseGoesWrong) {
  const std::vector<Tensor> operands = {with_symbols()};
  int calls = 0;
  const auto record_it = [&] {
    record(operands, [&](Sizes) -> std::vector<Value> {
      ++calls;
      fail("the disk is full");
    });
  };
  EXPECT_THROW(record_it(), Error);
  EXPECT_EQ(calls, 1) << "numbers are tried where symbols are refused alone";
}

/// A builder's error is a Refused with all of its context, through composites, too.
TEST(Refusals, OfBuildersHaveTheirType) {
  const Value x = input("x", shape(f32, 2, 3));
  const Value y = input("y", shape(f32, 4, 5));
  EXPECT_THROW((void)matmul(x, y), Refused);
  EXPECT_THROW((void)(x + y), Refused);
  EXPECT_THROW((void)layer_norm(x, y, y), Refused);
  EXPECT_THROW((void)reduce_sum(x, {7}), Refused);
  EXPECT_THROW((void)einsum("ij,jk->ik", {x, y}), Refused);
}

}  // namespace
}  // namespace tenon::tensors::refusals_test
