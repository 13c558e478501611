// When tensors are computed: together with what, by which program, in whose memory.
#include <gtest/gtest.h>

#include <random>

#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/autograd.h"
#include "tenon/modules.h"
#include "tenon/optim.h"
#include "tenon/realizations.h"
#include "tenon/tensor.h"
#include "tensor/record/cell.h"

namespace tenon::realize_test {
namespace {

struct Realize : testing::Test {
  void SetUp() override {
    clear_programs();
    clear_realizations();
  }
};

TEST_F(Realize, PendingWritesThatShareWorkComeAlong) {
  Tensor x = tensor(counted({4, 3}));
  Tensor mean = tensor(counted({3}));
  Tensor unrelated = tensor(counted({2}));
  const Tensor moment = x.mean({0});
  mean *= 0.9;
  mean += moment * 0.1;
  unrelated += 1;
  const Tensor y = x - moment;
  y.to_array();
  ASSERT_EQ(realizations().size(), 1);
  EXPECT_EQ(realizations()[0].writes, 1);
  mean.to_array();
  EXPECT_EQ(realizations().size(), 1) << "it was computed with y";
  unrelated.to_array();
  EXPECT_EQ(realizations().size(), 2);
}

TEST_F(Realize, OneProgramForAllSizesOfAName) {
  for (const int64_t batch : {3, 5, 1, 8, 3}) {
    const Tensor x = tensor(counted({batch, 4}), {"batch", 4});
    const Tensor y = (x * 2).sum({1}) + Tensor::ones({x.size(0)});
    EXPECT_EQ(y.to_array().dims(), std::vector<int64_t>{batch});
    EXPECT_EQ(y.to_array().at(0), 13);
  }
  EXPECT_EQ(realization_counts().compiles, 1);
}

TEST_F(Realize, OneProgramPicksFromTheEndAtAllSizes) {
  for (const int64_t batch : {3, 5, 1, 8, 3}) {
    const Tensor x = tensor(counted({batch, 4}), {"batch", 4});
    EXPECT_EQ(x[-1].sum().item(), static_cast<double>(16 * (batch - 1) + 6));
  }
  EXPECT_EQ(realization_counts().compiles, 1);
  const Tensor x = tensor(counted({3, 4}), {"batch", 4});
  EXPECT_TRUE(mentions(error_text([&] { x[-4]; }), {"position -4", "3 elements"}));
}

TEST_F(Realize, TwoProgramsForAllSizesOfAnAxisWithoutAName) {
  for (const int64_t batch : {3, 5, 2, 8, 3, 9}) {
    const Tensor x = tensor(counted({batch, 4}));
    EXPECT_EQ((x * 2).sum({1}).to_array().at(0), 12);
  }
  EXPECT_EQ(realization_counts().compiles, 2);
}

TEST_F(Realize, ANumberOfASizeIsAnotherProgram) {
  for (const int64_t batch : {2, 4, 6}) {
    const Tensor x = tensor(counted({batch, 4}), {"batch", 4});
    EXPECT_EQ(x.reshape({x.dims(0) * 2, 2}).exp().dims()[0], batch * 2);
    x.reshape({x.dims(0) * 2, 2}).exp().to_array();
  }
  EXPECT_EQ(realization_counts().compiles, 3);
}

TEST_F(Realize, TwoSizesOfOneNameMeet) {
  Tensor total = tensor(Array(Dtype::f32, {}));
  for (const int64_t batch : {2, 3}) {
    total += tensor(counted({batch}), {"batch"}).sum();
  }
  EXPECT_EQ(total.item(), 1 + 3);
}

TEST_F(Realize, LabelsOfNumbersDoNotClash) {
  const Tensor two = tensor(counted({2, 3}), {"batch=2", 3});
  const Tensor eight = tensor(counted({8, 3}), {"batch=8", 3});
  EXPECT_EQ((two.sum() + eight.sum()).item(), 15 + 276) << "two sizes of one label";
  const Tensor five = tensor(counted({5, 3}), {"batch", 3});
  const Tensor more = Tensor::ones({five.size(0), 2});  // a size that no input has
  EXPECT_EQ((two.sum() + more.sum()).item(), 15 + 10) << "a label beside an axis of its name";
}

TEST_F(Realize, SizesThatFitMeetWhateverTheirNames) {
  const Tensor a = tensor(counted({3}), {"rows"});
  const Tensor b = tensor(counted({3}), {"cols"});
  EXPECT_EQ((a + b).to_array().at(2), 4);
  const Tensor one = tensor(counted({1}), {"single"});
  EXPECT_EQ((a + one).to_array().at(2), 2) << "a size of 1 broadcasts, though it has a name";
  const Tensor c = tensor(counted({4}), {"rows"});
  EXPECT_TRUE(mentions(error_text([&] { a + c; }), {"3", "4"}));
}

TEST_F(Realize, RealisingDoesNotCutWhatGradientsNeed) {
  Tensor w = tensor({1, 2, 3}).requires_grad_();
  const Tensor h = w * w;
  EXPECT_EQ(h.to_array().at(2), 9);
  const Tensor y = (h * h).sum();
  EXPECT_EQ(y.item(), 1 + 16 + 81);
  y.backward();
  EXPECT_EQ(w.grad().to_array().at(2), 4 * 27);
}

TEST_F(Realize, KnownElementsAreLoadedAndNotComputedAgain) {
  Tensor w = tensor(counted({8, 8})).requires_grad_();
  const Tensor h = matmul(w, w);
  h.to_array();
  (h + 1).to_array();
  EXPECT_EQ(realizations()[1].operations, 3) << "a number, spread and added: no product";
}

const void* memory(const Tensor& x) { return x.to_array().data(); }

TEST_F(Realize, StateThatNobodyElseHoldsIsWrittenInPlace) {
  Tensor state = tensor(counted({1000}));
  state += 1;
  state.to_array();
  const void* before = memory(state);
  for (int i = 0; i < 3; ++i) {
    state *= 2;
    realize({state});
    EXPECT_EQ(memory(state), before);
  }
  const Tensor old = state * 1;  // needs the old elements, and is not computed yet
  state *= 2;
  realize({state});
  EXPECT_NE(memory(state), before);
  EXPECT_EQ(old.to_array().at(1), 16);
  EXPECT_EQ(state.to_array().at(1), 32);
  const void* second = memory(state);
  const Array held = state.to_array();
  state += 1;
  realize({state});
  EXPECT_NE(memory(state), second) << "the caller holds the array";
  EXPECT_EQ(held.at(1), 32);
}

TEST_F(Realize, ARunThatFailsLeavesEveryTensorAsItWas) {
  Tensor table = tensor(counted({4}));
  realize({table += 1});
  Tensor state = tensor(counted({1}));
  realize({state += 1});
  const Tensor picked = table.take(tensor(Array::from<int64_t>({1}, {9})));
  state += picked;
  EXPECT_TRUE(mentions(error_text([&] { state.to_array(); }), {"9"}));
  EXPECT_EQ(table.to_array().at(3), 4);
  EXPECT_TRUE(mentions(error_text([&] { state.to_array(); }), {"9"})) << "the write is still there";
  discard_writes({state});
  EXPECT_EQ(state.item(), 1);
}

TEST_F(Realize, PendingGraphsDoNotGrowWithoutBound) {
  Tensor x = tensor(counted({4}));
  for (int i = 0; i < kMostPending + 10; ++i) {
    x = -x;
  }
  ASSERT_EQ(realizations().size(), 1);
  EXPECT_EQ(realizations()[0].reason, "pending limit");
  EXPECT_EQ(x.to_array().at(1), 1);
}

TEST_F(Realize, SaysWhyAndWhere) {
  const Tensor x = tensor(counted({4})) + 1;
  x[0].item();
  ASSERT_EQ(realizations().size(), 1);
  EXPECT_EQ(realizations()[0].reason, "item()");
  EXPECT_TRUE(mentions(realizations()[0].place, {"realize_test.cpp:"}));
  EXPECT_TRUE(mentions(realizations_text(), {"item()", "realize_test.cpp:"}));
}

TEST_F(Realize, KernelsAreLogged) {
  testing::internal::CaptureStderr();
  log_kernels(2);
  (tensor(counted({1000})) + 1).to_array();
  log_kernels(0);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(mentions(text, {"to_array() at realize_test.cpp"}));
  EXPECT_TRUE(mentions(text, {"add", "GB/s", "ms"}));
}

TEST_F(Realize, ProgramsAreKeptUpToALimit) {
  set_program_limit(2);
  for (int round = 0; round < 2; ++round) {
    const Tensor x = tensor(counted({4}));
    for (const Tensor& y : {x.exp(), x.tanh(), x.sin()}) {
      y.to_array();
    }
  }
  set_program_limit(256);
  EXPECT_EQ(realization_counts().compiles, 6) << "each was forgotten when it came again";
}

TEST_F(Realize, SizesThatDataDecide) {
  for (const float limit : {2.0F, 4.0F}) {
    const Tensor x = tensor(counted({6}));
    const Tensor found = nonzero(x.gt(limit));
    EXPECT_EQ(found.dims(1), static_cast<int64_t>(5 - limit));
    EXPECT_EQ((found + 1).to_array().at(0), limit + 2);
  }
}

TEST_F(Realize, ABadWriteDoesNotTakeOthersDown) {
  Tensor x = Tensor::zeros({4});
  const Tensor before = x + 1;
  x.put_(tensor(Array::from<int64_t>({1}, {9})), tensor({5}));
  EXPECT_EQ(before.to_array().at(3), 1);
  EXPECT_TRUE(mentions(error_text([&] { x.to_array(); }), {"9"}));
}

TEST_F(Realize, StepsThatNobodyLooksAtInBetweenDoNotPileUp) {
  Tensor w = tensor({1, 2}).requires_grad_();
  optim::Adam optimizer({w});
  for (int i = 0; i < 60; ++i) {
    const Tensor loss = (w * w).sum();
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    loss.item();
  }
  for (const Realization& one : realizations()) {
    EXPECT_NE(one.reason, "pending limit");
  }
  EXPECT_LE(realization_counts().compiles, 3);
}

TEST_F(Realize, ALossThatIsAddedUpDoesNotCompileAgain) {
  Tensor w = tensor({1, 2}).requires_grad_();
  optim::SGD optimizer({w}, {.learning_rate = 1e-3});
  Tensor total = Tensor::number(0);
  for (int i = 0; i < 20; ++i) {
    const Tensor loss = (w * w).sum();
    total += loss;
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    loss.item();
  }
  EXPECT_LE(realization_counts().compiles, 5);
}

}  // namespace
}  // namespace tenon::realize_test
