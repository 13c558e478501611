// ResNet-18 as people write it with tensors: modules, in-place additions and activations.
#pragma once

#include <memory>
#include <vector>

#include "tenon/modules.h"

namespace bench {

/// Two convolutions and what is added to their result.
class BasicBlock : public tenon::nn::Layer {
 public:
  BasicBlock(int64_t in, int64_t out, int64_t stride);
  tenon::Tensor operator()(const tenon::Tensor& x) const override;

 private:
  tenon::nn::Conv2d conv1_;
  tenon::nn::BatchNorm bn1_;
  tenon::nn::Conv2d conv2_;
  tenon::nn::BatchNorm bn2_;
  std::shared_ptr<tenon::nn::Sequential> downsample_;
};

/// Images [batch, 3, height, width] to `classes` logits.
class LazyResNet18 : public tenon::nn::Layer {
 public:
  explicit LazyResNet18(int64_t classes = 1000);
  tenon::Tensor operator()(const tenon::Tensor& x) const override;

 private:
  tenon::nn::Conv2d conv1_;
  tenon::nn::BatchNorm bn1_;
  std::vector<std::shared_ptr<BasicBlock>> blocks_;
  tenon::nn::Linear fc_;
};

}  // namespace bench
