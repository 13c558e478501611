// Tensors: cells and views, one rule for writes, errors that say both sides.
#include "tenon/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <type_traits>

#include "support/arrays.h"
#include "support/error_text.h"
#include "tenon/realizations.h"

namespace tenon::tensor_test {
namespace {

std::vector<float> elements(const Tensor& tensor) {
  const Array array = tensor.to_array();
  return {array.values<float>().begin(), array.values<float>().end()};
}
using Floats = std::vector<float>;

TEST(Tensor, CopiesAreTheSameTensorAndClonesAreNot) {
  Tensor a = tensor({1, 2, 3});
  Tensor same = a;
  const Tensor other = a.clone();
  a += 1;
  EXPECT_EQ(elements(same), (Floats{2, 3, 4}));
  EXPECT_EQ(elements(other), (Floats{1, 2, 3}));
}

TEST(Tensor, NothingRunsUntilSomebodyLooks) {
  clear_realizations();
  Tensor a = tensor({1, 2, 3, 4});
  Tensor b = exp(a) * 2 + a;
  b.reshape({2, 2})[0] += 1;
  b.relu_();
  EXPECT_EQ(realization_counts().runs, 0);
  b.to_array();
  EXPECT_EQ(realization_counts().runs, 1);
  EXPECT_EQ(realization_counts().kernels, 1);
  b.to_array();
  EXPECT_EQ(realization_counts().runs, 1) << "its elements are known";
}

TEST(Tensor, EveryAliasSeesEveryWrite) {
  Tensor base = tensor({0, 1, 2, 3, 4, 5});
  Tensor matrix = base.reshape({2, 3});
  Tensor column = matrix.slice_axis(1, 1, 2);
  Tensor turned = matrix.t();
  column.fill_(9);
  EXPECT_EQ(elements(base), (Floats{0, 9, 2, 3, 9, 5}));
  turned[2] *= 10;
  EXPECT_EQ(elements(matrix), (Floats{0, 9, 20, 3, 9, 50}));
  base.slice_axis(0, 0, 2).copy_(tensor({7, 8}));
  EXPECT_EQ(elements(column), (Floats{8, 9}));
  EXPECT_EQ(elements(turned), (Floats{7, 3, 8, 9, 20, 50}));
}

TEST(Tensor, WhatWasComputedBeforeAWriteKeepsWhatItWas) {
  Tensor x = tensor({1, 2});
  const Tensor before = x * 10;
  const Tensor seen = x.clone();
  x += 1;
  const Tensor after = x * 10;
  EXPECT_EQ(elements(before), (Floats{10, 20}));
  EXPECT_EQ(elements(after), (Floats{20, 30}));
  EXPECT_EQ(elements(seen), (Floats{1, 2}));
}

TEST(Tensor, AWriteMayReadWhatItWrites) {
  Tensor a = tensor({1, 2, 3, 4});
  Tensor m = a.reshape({2, 2});
  m += m.t();
  EXPECT_EQ(elements(m), (Floats{2, 5, 5, 8}));
  a.slice_axis(0, 1).copy_(a.slice_axis(0, 0, 3));
  EXPECT_EQ(elements(a), (Floats{2, 2, 5, 5}));
}

TEST(Tensor, WritesOfEveryKind) {
  Tensor x = tensor({-2, -1, 0, 1, 2, 3});
  x.clamp_(-1, 2);
  EXPECT_EQ(elements(x), (Floats{-1, -1, 0, 1, 2, 2}));
  x.masked_fill_(x.lt(0), 5);
  EXPECT_EQ(elements(x), (Floats{5, 5, 0, 1, 2, 2}));
  x.put_(tensor(Array::from<int64_t>({2}, {0, 5})), tensor({7, 8}));
  EXPECT_EQ(elements(x), (Floats{7, 5, 0, 1, 2, 8}));
  Tensor m = x.reshape({2, 3});
  m.put_(tensor(Array::from<int64_t>({2}, {2, 0})), tensor({10, 20}), 1, "add");
  EXPECT_EQ(elements(m), (Floats{27, 5, 10, 21, 2, 18}));
  x.zero_();
  EXPECT_EQ(elements(m), (Floats{0, 0, 0, 0, 0, 0}));
  x.add_(3).mul_(2).sqrt_();
  EXPECT_EQ(elements(x), Floats(6, std::sqrt(6.0F)));
  x -= 1;
  x /= 2;
  x *= tensor({2, 2, 2, 2, 2, 2});
  EXPECT_NEAR(x[0].item(), std::sqrt(6.0) - 1, 1e-6);
}

TEST(Tensor, ResultsGoIntoGivenTensors) {
  Tensor out = Tensor::zeros({2, 4});
  concat_out(out.slice_axis(1, 1, 3), {tensor({1, 2}).reshape({2, 1}), tensor({3, 4}).reshape({2, 1})}, 1);
  EXPECT_EQ(elements(out), (Floats{0, 1, 3, 0, 0, 2, 4, 0}));
  Tensor values = Tensor::zeros({2});
  Tensor positions = Tensor::zeros({2}, Dtype::i64);
  top_k_out({values, positions}, tensor({3, 9, 4}), 2);
  EXPECT_EQ(elements(values), (Floats{9, 4}));
  EXPECT_EQ(positions.to_array().at(0), 1);
  Tensor sorted = Tensor::zeros({3});
  sort_out(sorted, tensor({3, 1, 2}));
  EXPECT_EQ(elements(sorted), (Floats{1, 2, 3}));
  add_out(values, values, 1);
  EXPECT_EQ(elements(values), (Floats{10, 5}));
  EXPECT_EQ(error_text([&] { exp_out(values, tensor({1, 2, 3})); }),
            "out: the result is f32[3], the tensor that it is written to is f32[2]");
}

TEST(Tensor, MakesWhatTheTablesSay) {
  EXPECT_EQ(elements(Tensor::arange(1, 7, 2, Dtype::f32)), (Floats{1, 3, 5}));
  EXPECT_EQ(elements(Tensor::eye(2, 2)), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(elements(Tensor::ones({2}) * 3), (Floats{3, 3}));
  EXPECT_EQ(elements(Tensor::full(shape(Dtype::f32, 2), 4)), (Floats{4, 4}));
  EXPECT_EQ(elements(matmul(tensor({1, 2}).reshape({1, 2}), tensor({3, 4}).reshape({2, 1}))), Floats{11});
  EXPECT_NEAR(tensor({1, 2, 3}).softmax().sum().item(), 1, 1e-6);
  EXPECT_EQ(tensor({4, 2, 3}).argmin().item(), 1);
  EXPECT_EQ(elements(tensor({1, 2, 3, 4}).split_evenly(0, 2)[1]), (Floats{3, 4}));
}

TEST(Tensor, NamesOfPyTorchMeanWhatTheyMeanThere) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  EXPECT_EQ(elements(x.narrow(1, 1, 2)), (Floats{2, 3, 5, 6})) << "a start and a length";
  EXPECT_EQ(elements(x.narrow(1, -2, 1)), (Floats{2, 5}));
  EXPECT_TRUE(mentions(error_text([&] { x.narrow(1, 2, 2); }), {"2 elements from 2 on", "axis 1", "f32[2, 3]"}));
  EXPECT_EQ(x.argmax().item(), 5) << "of all elements";
  EXPECT_EQ(x.argmax({}, true).dims(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(elements(x.argmin(1).to(Dtype::f32)), (Floats{0, 0}));
  EXPECT_EQ(elements(x.variance({1})), (Floats{1, 1})) << "divided by one less than the count";
  EXPECT_EQ(elements(x.standard_deviation({1}, false, 0)), (Floats{std::sqrt(2 / 3.F), std::sqrt(2 / 3.F)}));
  const Tensor row = tensor({1, 2, 3}).reshape({1, 1, 3});
  EXPECT_EQ(elements(average_pool(row, {3}, {1}, {}, {1}, {1})), (Floats{1, 2, 5 / 3.F})) << "padding counts";
  EXPECT_EQ(elements(tensor({1, 2}).repeat_interleave(2, 0)), (Floats{1, 1, 2, 2}));
  EXPECT_EQ(elements(tensor({1, 2}).tile({2})), (Floats{1, 2, 1, 2}));
}

TEST(Tensor, CrossEntropyTakesClassesAndLabelsAsPyTorchDoes) {
  Tensor logits = Tensor::zeros({2, 2, 3});  // [batch, class, position]
  logits.select_at(0, 1).fill_(20);
  const Tensor labels = tensor(Array::from<int64_t>({2, 3}, {0, 0, -100, -100, 1, 0}));
  EXPECT_NEAR(cross_entropy(logits, labels).item(), 5, 1e-5) << "20 of four labels; two are left out";
  EXPECT_NEAR(cross_entropy(logits[0].t(), labels[1]).item(), 10, 1e-5);
  const Tensor last = logits.transpose({0, 2, 1});
  EXPECT_NEAR(cross_entropy(last, labels, {}, "mean", -1).item(), 5, 1e-5);
  const Tensor one = cross_entropy(tensor({0, 0}), tensor(Array::from<int64_t>({}, {1})));
  EXPECT_NEAR(one.item(), std::log(2), 1e-6) << "[class] alone";
}

TEST(Tensor, ComparesByOperators) {
  const Tensor x = tensor({1, 2, 3});
  const auto where = [&](const Tensor& mask) { return elements(mask.to(Dtype::f32)); };
  EXPECT_EQ(where(x > 1), (Floats{0, 1, 1}));
  EXPECT_EQ(where(x >= tensor({1, 3, 3})), (Floats{1, 0, 1}));
  EXPECT_EQ(where(x < 2), (Floats{1, 0, 0}));
  EXPECT_EQ(where(2 <= x), (Floats{0, 1, 1}));
  EXPECT_EQ(where(x == 2), (Floats{0, 1, 0}));
  EXPECT_EQ(where(x != 2), (Floats{1, 0, 1}));
  EXPECT_EQ(where((x > 1) & (x < 3)), (Floats{0, 1, 0}));
  EXPECT_EQ(where((x < 2) | (x > 2)), (Floats{1, 0, 1}));
  EXPECT_EQ(where(~(x > 1)), (Floats{1, 0, 0}));
  Tensor y = x.clone();
  y.clamp_(1.5, 2.5);
  EXPECT_EQ(elements(y), (Floats{1.5, 2, 2.5}));
  y.clamp_(tensor({2, 1, 1}), 2);
  EXPECT_EQ(elements(y), (Floats{2, 2, 2}));
}

TEST(Tensor, BuildersTakeWhatThoseOfValuesTake) {
  const Tensor a = tensor({1, 2, 3, 4}).reshape({2, 2});
  EXPECT_EQ(elements(einsum("ij,jk->ik", {a, a})), elements(matmul(a, a)));
  EXPECT_EQ(elements(a.sort(0, true)), (Floats{3, 4, 1, 2}));
  EXPECT_EQ(elements(sort(tensor({3, 1, 2}))), (Floats{1, 2, 3}));
  const std::vector<Tensor> both = sort_together({tensor({3, 1, 2}), tensor({1, 2, 3})});
  EXPECT_EQ(elements(both[1]), (Floats{2, 3, 1}));
  EXPECT_EQ(error_text([] { sort_together(std::vector<Tensor>{}); }), "sort_together: there is nothing to sort");
}

TEST(Tensor, PartsOfASplitAreViews) {
  Tensor x = tensor({1, 2, 3, 4});
  std::vector<Tensor> halves = x.split_evenly(0, 2);
  halves[1] += 10;
  EXPECT_EQ(elements(x), (Floats{1, 2, 13, 14}));
}

TEST(Tensor, RandomNumbersComeFromASeed) {
  manual_seed(7);
  const Floats first = elements(Tensor::randn({5}));
  const Floats second = elements(Tensor::randn({5}));
  EXPECT_NE(first, second);
  manual_seed(7);
  EXPECT_EQ(elements(Tensor::randn({5})), first);
  Generator own(7);
  EXPECT_EQ(elements(Tensor::randn({5}, Dtype::f32, &own)), first);
  EXPECT_EQ(own.counter(), 1);
  for (const float x : elements(Tensor::rand({100}))) {
    EXPECT_TRUE(x >= 0 && x < 1);
  }
}

TEST(Tensor, LooksInEveryWay) {
  EXPECT_EQ(tensor({2.5}).item(), 2.5);
  EXPECT_TRUE(tensor({1}).is_true());
  EXPECT_FALSE(tensor({0}).is_true());
  EXPECT_TRUE((tensor({3}) > 2).is_true());
  static_assert(!std::is_constructible_v<bool, Tensor>,
                "`if (bias)` would run a program; defined() asks whether there is one");
  std::ostringstream out;
  out << tensor({1, 2});
  EXPECT_EQ(out.str(), "f32[2] {1, 2}");
  EXPECT_EQ(error_text([] { tensor({1, 2}).item(); }), "item(): the tensor is f32[2], must have one element");
}

TEST(Tensor, ErrorsSayBothSides) {
  Tensor x = Tensor::zeros({2, 3});
  EXPECT_EQ(error_text([&] { x.copy_(Tensor::zeros({2, 4})); }), "cannot write f32[2, 4] into f32[2, 3]");
  EXPECT_EQ(error_text([&] { x.copy_(Tensor::zeros({2, 3}, Dtype::i64)); }), "cannot write i64[2, 3] into f32[2, 3]");
  EXPECT_EQ(error_text([&] { x += Tensor::zeros({4, 2, 3}); }), "cannot write f32[4, 2, 3] into f32[2, 3]");
  EXPECT_TRUE(mentions(error_text([&] { x.broadcast_to({5, 2, 3}).fill_(1); }), {"cannot write through broadcast"}));
  EXPECT_TRUE(mentions(error_text([&] { x.reshape({4, 2}); }), {"f32[2, 3]"}));
  EXPECT_EQ(error_text([&] { x[2]; }), "position 2 of axis 0, which has 2 elements, of f32[2, 3]");
  EXPECT_EQ(error_text([] { Tensor().shape(); }), "an empty Tensor has no elements");
  EXPECT_EQ(error_text([] { tensor(Array(Dtype::f32, {2, 3}), {"batch", 4}); }),
            "tensor: the array is f32[2, 3], the axes are f32[batch, 4]");
}

TEST(Tensor, ResultsAreTakenBeforeAnyIsWritten) {
  Tensor x = tensor({1, 2, 3, 4});
  split_out({x.slice_axis(0, 2), x.slice_axis(0, 0, 2)}, x, 0, {2, 2});
  EXPECT_EQ(elements(x), (Floats{3, 4, 1, 2}));
  Tensor values = Tensor::zeros({2});
  Tensor wrong = Tensor::zeros({3}, Dtype::i64);
  EXPECT_TRUE(mentions(error_text([&] { top_k_out({values, wrong}, tensor({3, 1, 2}), 2); }), {"i64[2]", "i64[3]"}));
  EXPECT_EQ(elements(values), (Floats{0, 0})) << "nothing is written where something does not fit";
}

TEST(Tensor, NumbersThatDoNotFitAreRefused) {
  Tensor whole = Tensor::zeros({2}, Dtype::i64);
  EXPECT_TRUE(mentions(error_text([&] { whole.fill_(1.5); }), {"1.5", "i64[2]"}));
  EXPECT_TRUE(mentions(error_text([&] { whole.copy_(std::nan("")); }), {"nan", "i64[2]"}));
  EXPECT_TRUE(mentions(error_text([&] { whole + int64_t{9007199254740993}; }), {"9007199254740993"}));
  EXPECT_NE(error_text([] { Tensor::zeros({int64_t{1} << 40, int64_t{1} << 40}).count(); }), "no error");
}

TEST(Tensor, ANumberThatIsAnElementOfAViewOfAView) {
  const Tensor x = tensor({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).reshape({3, 4});
  EXPECT_EQ(elements(x.t().reshape({12})[5] * 3), (Floats{27}));
  EXPECT_EQ(elements(x.t().flip({0}).reshape({12})[5] * 3), (Floats{30}));
}

TEST(Tensor, ManyViewsOfViews) {
  Tensor x = Tensor::arange(0, 3000, 1, Dtype::f32);
  Tensor v = x;
  for (int i = 0; i < 1000; ++i) {
    v = v.slice_axis(0, 1);
  }
  EXPECT_EQ(v.dims(0), 2000);
  EXPECT_EQ(v[0].item(), 1000);
}

}  // namespace
}  // namespace tenon::tensor_test
