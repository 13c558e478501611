#include "support/lazy_resnet.h"

#include <string>

namespace bench {

using namespace tenon;

BasicBlock::BasicBlock(int64_t in, int64_t out, int64_t stride)
    : conv1_(child("conv1", nn::Conv2d(in, out, {3}, {.stride = {stride}, .padding = {1}, .bias = false}))),
      bn1_(child("bn1", nn::BatchNorm(out))),
      conv2_(child("conv2", nn::Conv2d(out, out, {3}, {.padding = {1}, .bias = false}))),
      bn2_(child("bn2", nn::BatchNorm(out))) {
  if (stride != 1 || in != out) {
    downsample_ = std::make_shared<nn::Sequential>(nn::Conv2d(in, out, {1}, {.stride = {stride}, .bias = false}),
                                                   nn::BatchNorm(out));
    add_child("downsample", *downsample_);
  }
}

Tensor BasicBlock::operator()(const Tensor& x) const {
  Tensor out = bn1_(conv1_(x));
  out.relu_();
  out = bn2_(conv2_(out));
  out += downsample_ ? (*downsample_)(x) : x;
  return out.relu_();
}

LazyResNet18::LazyResNet18(int64_t classes)
    : conv1_(child("conv1", nn::Conv2d(3, 64, {7}, {.stride = {2}, .padding = {3}, .bias = false}))),
      bn1_(child("bn1", nn::BatchNorm(64))),
      fc_(child("fc", nn::Linear(512, classes))) {
  int64_t in = 64;
  for (const int64_t out : {64, 128, 256, 512}) {
    for (int i = 0; i < 2; ++i) {
      blocks_.push_back(std::make_shared<BasicBlock>(in, out, i == 0 && out != 64 ? 2 : 1));
      add_child("block" + std::to_string(blocks_.size()), *blocks_.back());
      in = out;
    }
  }
}

Tensor LazyResNet18::operator()(const Tensor& x) const {
  Tensor y = bn1_(conv1_(x));
  y.relu_();
  y = max_pool(y, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1});
  for (const auto& block : blocks_) {
    y = (*block)(y);
  }
  return fc_(y.mean({2, 3}));
}

}  // namespace bench
