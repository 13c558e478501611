#include <fmt/format.h>

#include <cmath>

#include "base/fail.h"
#include "tenon/modules.h"

namespace tenon::nn {
namespace {

/// PyTorch has the gates as input, forget, cell, output; the builder takes input, output, forget, cell.
Tensor reordered(const Tensor& gates, int64_t hidden) {
  const auto gate = [&](int64_t i) { return gates.narrow(0, i * hidden, Extent((i + 1) * hidden)); };
  return concat({gate(0), gate(3), gate(1), gate(2)}, 0);
}

}  // namespace

LSTM::LSTM(int64_t in, int64_t hidden, int64_t layers, bool bidirectional)
    : hidden_(hidden), directions_(bidirectional ? 2 : 1) {
  if (in < 1 || hidden < 1 || layers < 1) {
    fail("LSTM: {} inputs, {} hidden, {} layers; each must be at least 1", in, hidden, layers);
  }
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (int64_t layer = 0; layer < layers; ++layer) {
    const int64_t width = layer == 0 ? in : hidden * directions_;
    for (int direction = 0; direction < directions_; ++direction) {
      const auto made = [&](const char* name, std::vector<Axis> axes) {
        Tensor x = Tensor::zeros(axes);
        init::uniform_(x, -bound, bound);
        return parameter(fmt::format("{}_l{}{}", name, layer, direction == 1 ? "_reverse" : ""), x);
      };
      Direction part;
      part.w = made("weight_ih", {4 * hidden, width});
      part.r = made("weight_hh", {4 * hidden, hidden});
      part.bias_w = made("bias_ih", {4 * hidden});
      part.bias_r = made("bias_hh", {4 * hidden});
      parts_.push_back(std::move(part));
    }
  }
}

LstmResult LSTM::operator()(const Tensor& x, const Tensor& h, const Tensor& c) const {
  if (h.defined() != c.defined()) {
    fail("LSTM: an initial h needs a c, and a c an h");
  }
  Tensor y = x.transpose({1, 0, 2});
  std::vector<Tensor> hs;
  std::vector<Tensor> cs;
  for (size_t i = 0; i < parts_.size(); i += static_cast<size_t>(directions_)) {
    std::vector<Tensor> outputs;
    for (size_t k = i; k < i + static_cast<size_t>(directions_); ++k) {
      const Direction& part = parts_[k];
      const Tensor bias = concat({reordered(part.bias_w, hidden_), reordered(part.bias_r, hidden_)}, 0);
      const auto state = [&](const Tensor& all) { return all.defined() ? all[static_cast<int64_t>(k)] : Tensor(); };
      const std::vector<Tensor> found =
          lstm(y, reordered(part.w, hidden_), reordered(part.r, hidden_), bias, state(h), state(c), k > i);
      outputs.push_back(found[0]);
      hs.push_back(found[1]);
      cs.push_back(found[2]);
    }
    y = outputs.size() == 1 ? outputs[0] : concat(outputs, 2);
  }
  return {.outputs = y.transpose({1, 0, 2}), .h = stack(hs, 0), .c = stack(cs, 0)};
}

}  // namespace tenon::nn
