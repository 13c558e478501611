// Gradients of lazy tensors: through views, through writes, of gradients.
#include "tenon/autograd.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/error_text.h"
#include "tenon/modules.h"
#include "tenon/realizations.h"

namespace tenon::autograd_test {
namespace {

using Floats = std::vector<float>;

Floats elements(const Tensor& tensor) {
  const Array array = tensor.to_array();
  return {array.values<float>().begin(), array.values<float>().end()};
}

TEST(Autograd, GradientsAddUp) {
  Tensor x = tensor({1, 2, 3}).requires_grad_();
  EXPECT_FALSE(x.grad().defined());
  (x * x).sum().backward();
  EXPECT_EQ(elements(x.grad()), (Floats{2, 4, 6}));
  (x * 10).sum().backward();
  EXPECT_EQ(elements(x.grad()), (Floats{12, 14, 16}));
  x.set_grad({});
  (x * tensor({1, 0, 1})).backward(tensor({5, 5, 7}));
  EXPECT_EQ(elements(x.grad()), (Floats{5, 0, 7}));
}

TEST(Autograd, GoesThroughViewsAndWrites) {
  Tensor x = tensor({1, 2, 3, 4}).requires_grad_();
  Tensor y = x * 2;
  y.reshape({2, 2})[1] *= x.slice_axis(0, 0, 2);  // y = [2, 4, 6*1, 8*2]
  y.slice_axis(0, 0, 1).fill_(100);               // the first no longer depends on x
  y.sum().backward();
  EXPECT_EQ(y.sum().item(), 100 + 4 + 6 + 16);
  EXPECT_EQ(elements(x.grad()), (Floats{6, 2 + 8, 2, 4}));
}

TEST(Autograd, AValueThatAWriteReplacedIsStillThere) {
  Tensor x = tensor({2}).requires_grad_();
  Tensor y = x * 3;
  const Tensor z = y * y;  // its gradient needs what y was
  y += 100;
  z.backward(Tensor::ones({1}));
  EXPECT_EQ(x.grad().item(), 36);
}

TEST(Autograd, WhatIsWrittenToAParameterOutsideOfGradientsIsANewBeginning) {
  Tensor w = tensor({3}).requires_grad_();
  for (int i = 0; i < 3; ++i) {
    w.set_grad({});
    (w * w).sum().backward();
    const Tensor g = w.grad();
    const NoGrad none;
    w -= g * 0.25;
  }
  EXPECT_EQ(w.item(), 3.0 / 8);
  EXPECT_TRUE(w.requires_grad());
  EXPECT_EQ(w.grad().item(), 1.5) << "of the last round";
}

TEST(Autograd, NoGradAndDetach) {
  Tensor x = tensor({2}).requires_grad_();
  EXPECT_TRUE((x * 2).requires_grad());
  EXPECT_FALSE((x.detach() * 2).requires_grad());
  (x * x.detach()).sum().backward();
  EXPECT_EQ(x.grad().item(), 2);
  {
    const NoGrad none;
    EXPECT_FALSE((x * 2).requires_grad());
    const EnableGrad again;
    EXPECT_TRUE((x * 2).requires_grad());
  }
  Tensor shared = x.detach();
  shared.fill_(5);
  EXPECT_EQ(x.item(), 5) << "a detached tensor is the same storage";
}

TEST(Autograd, GradientsOfGradients) {
  Tensor x = tensor({2}).requires_grad_();
  const Tensor y = (x * x * x).sum();
  const Tensor first = grad(y, {x}, {.create = true})[0];
  EXPECT_EQ(first.item(), 12);
  EXPECT_EQ(grad(first.sum(), {x})[0].item(), 12);
  const Tensor penalty = (first * first).sum();
  penalty.backward();
  EXPECT_EQ(x.grad().item(), 2 * 12 * 12);
}

TEST(Autograd, OfValuesOnTheWay) {
  Tensor x = tensor({2}).requires_grad_();
  const Tensor h = x * 3;
  const Tensor y = (h * h).sum();
  const std::vector<Tensor> found = grad(y, {h, x});
  EXPECT_EQ(found[0].item(), 12);
  EXPECT_EQ(found[1].item(), 36);
}

TEST(Autograd, ACheckpointGivesTheSameGradients) {
  manual_seed(1);
  const nn::Linear first(6, 8);
  const nn::Linear second(8, 6);
  const Tensor x = Tensor::randn({5, 6}).requires_grad_();
  const auto block = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {second(gelu(first(in[0])))}; };
  const auto gradients_of = [&](const Tensor& y) {
    for (Tensor p : {x, first.weight, second.weight}) {
      p.set_grad({});
    }
    (y * y).sum().backward();
    std::vector<Floats> result;
    for (const Tensor& p : {x, first.weight, second.weight}) {
      result.push_back(elements(p.grad()));
    }
    return result;
  };
  const std::vector<Floats> again = gradients_of(checkpoint(block, {x})[0]);
  const std::vector<Floats> kept = gradients_of(block({x})[0]);
  for (size_t i = 0; i < kept.size(); ++i) {
    for (size_t k = 0; k < kept[i].size(); ++k) {
      EXPECT_NEAR(again[i][k], kept[i][k], 1e-6);
    }
  }
}

TEST(Autograd, ACheckpointComputesAgainWhatLiesBetween) {
  Tensor x = tensor(Array(Dtype::f32, {4, 64})).requires_grad_();
  const std::vector<nn::Linear> layers{nn::Linear(64, 48), nn::Linear(48, 40), nn::Linear(40, 32)};
  const auto deep = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    Tensor y = in[0];
    for (const nn::Linear& layer : layers) {
      y = gelu(layer(y));
    }
    return {y};
  };
  clear_realizations();
  const auto kernels_of = [&](const Tensor& y) {
    x.set_grad({});
    y.sum().backward();
    x.grad().to_array();
    return realizations().back().kernels;
  };
  const int kept = kernels_of(deep({x})[0]);
  const int again = kernels_of(checkpoint(deep, {x})[0]);
  EXPECT_GT(again, kept) << "products are computed again";
}

TEST(Autograd, ACheckpointWithoutGradientsIsTheFunction) {
  Tensor x = tensor({1, 2}).requires_grad_();
  const auto twice = [](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {in[0] * 2}; };
  const NoGrad none;
  const Tensor y = checkpoint(twice, {x})[0];
  EXPECT_EQ(y.to_array().at(1), 4);
  EXPECT_FALSE(y.requires_grad());
}

TEST(Autograd, ACheckpointMayLookAtWhatItComputes) {
  Tensor x = tensor({1, 2}).requires_grad_();
  const auto scaled = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Tensor h = in[0] * 3;
    return {h.sum().item() > 5 ? h * h : h};
  };
  const Tensor y = checkpoint(scaled, {x})[0];
  y.sum().backward();
  EXPECT_EQ(y.to_array().at(1), 36);
  EXPECT_EQ(elements(x.grad()), (Floats{18, 36}));
}

TEST(Autograd, ACheckpointMayWriteToTensorsOutside) {
  Tensor x = tensor(Array::from<float>({2, 2}, {1, 2, 3, 6})).requires_grad_();
  const nn::BatchNorm norm(2, 0.5);
  const auto block = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {norm(in[0])}; };
  const Tensor y = checkpoint(block, {x})[0];
  EXPECT_EQ(norm.running_mean.to_array().at(1), 2);
  (y * y * y).sum().backward();
  const Floats checkpointed = elements(x.grad());
  x.set_grad({});
  const Tensor plain = block({x})[0];
  (plain * plain * plain).sum().backward();
  const Floats kept = elements(x.grad());
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_NEAR(checkpointed[i], kept[i], 1e-5);
  }
}

TEST(Autograd, SaysWhatIsMissing) {
  EXPECT_TRUE(mentions(error_text([] { tensor({1}).backward(); }), {"backward()", "requires_grad_()"}));
  Tensor x = tensor({1, 2}).requires_grad_();
  EXPECT_TRUE(mentions(error_text([&] { (x * 2).backward(); }), {"f32[2]", "scalar"}));
  EXPECT_EQ(error_text([] { Tensor::zeros({2}, Dtype::i64).requires_grad_(); }),
            "requires_grad_(): only floats have gradients, the tensor is i64[2]");
  EXPECT_TRUE(mentions(error_text([&] { (x * 2).backward(Tensor::ones({3})); }), {"f32[3]", "f32[2]"}));
  const Tensor y = (x * x).sum();
  y.backward();
  EXPECT_TRUE(mentions(error_text([&] { y.backward(); }), {"retain"}));
  const Tensor z = (x * x).sum();
  z.backward({}, /*retain=*/true);
  z.backward();
  EXPECT_EQ(elements(x.grad()), (Floats{6, 12}));
}

/// The cases of a PyTorch back end whose in-place operations kept kernels from fusing.
TEST(Autograd, ResidualAddAndReluAreOneKernelWithTheConvolution) {
  const nn::Conv2d conv(4, 4, {3}, {.padding = {1}, .bias = false});
  nn::BatchNorm norm(4);
  norm.eval();
  const Tensor x = tensor(Array(Dtype::f32, {2, 4, 8, 8}));
  clear_realizations();
  const NoGrad none;
  Tensor out = norm(conv(x));
  out += x;
  relu(out).to_array();
  EXPECT_EQ(realizations().back().kernels, 1) << "the pending write of `out` is another result of it";
}

TEST(Autograd, AWeightThatIsUsedTwiceIsOneProgram) {
  const nn::Conv2d conv(4, 4, {3}, {.padding = {1}});
  Tensor x = tensor(Array(Dtype::f32, {2, 4, 8, 8})).requires_grad_();
  clear_realizations();
  conv(relu(conv(x))).sum().backward();
  realize({x.grad(), conv.weight.grad(), conv.bias.grad()});
  EXPECT_EQ(realization_counts().runs, 1);
  EXPECT_LE(realizations().back().kernels, 6);
}

TEST(Autograd, AskingGradientsOfWhatHasThemChangesNothing) {
  Tensor w = tensor({1, 2}).requires_grad_();
  Tensor y = w * 2;
  y.requires_grad_();
  (y * y).sum().backward();
  EXPECT_EQ(elements(w.grad()), (Floats{8, 16}));
  EXPECT_TRUE(mentions(error_text([&] { w.set_grad(Tensor::ones({3, 2})); }), {"f32[3, 2]", "f32[2]"}));
  Tensor one = tensor({3}).requires_grad_();
  (one * one).backward();
  EXPECT_EQ(one.grad().item(), 6) << "one element is as good as a scalar";
}

}  // namespace
}  // namespace tenon::autograd_test
