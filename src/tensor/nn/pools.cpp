#include "base/fail.h"
#include "tenon/modules.h"
#include "tensor/nn/spread.h"

namespace tenon::nn {

Pool::Pool(const std::string& name, int axes, std::vector<int64_t> size, PoolSettings settings)
    : settings_(std::move(settings)) {
  const auto count = static_cast<size_t>(axes);
  size_ = spread(name.c_str(), "size", size, count);
  if (size_.empty()) {
    fail("{}: size has no entries, must have 1 or {}", name, count);
  }
  settings_.stride = spread(name.c_str(), "stride", settings_.stride, count);
  settings_.padding = spread(name.c_str(), "padding", settings_.padding, count);
  settings_.dilation = spread(name.c_str(), "dilation", settings_.dilation, count);
}

AvgPool::AvgPool(const std::string& name, int axes, std::vector<int64_t> size, PoolSettings settings)
    : Pool(name, axes, std::move(size), std::move(settings)) {
  if (!settings_.dilation.empty()) {
    fail("{}: dilation is for MaxPool", name);
  }
}

Tensor MaxPool::operator()(const Tensor& x) const {
  const std::vector<Extent> padding(settings_.padding.begin(), settings_.padding.end());
  return max_pool(x, size_, settings_.stride, settings_.dilation, padding, padding, "explicit", settings_.ceil_mode);
}

Tensor AvgPool::operator()(const Tensor& x) const {
  const std::vector<Extent> padding(settings_.padding.begin(), settings_.padding.end());
  return average_pool(x, size_, settings_.stride, {}, padding, padding, "explicit", settings_.ceil_mode,
                      settings_.count_include_pad);
}

Tensor AdaptiveAvgPool::operator()(const Tensor& x) const { return adaptive_average_pool(x, size_); }

}  // namespace tenon::nn
