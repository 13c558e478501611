#include <fmt/format.h>

#include <cmath>

#include "base/fail.h"
#include "tenon/modules.h"

namespace tenon::nn {

Recurrent::Recurrent(const char* name, int64_t gates, int64_t in, int64_t hidden, int64_t layers, bool bidirectional,
                     Tensor::Where where)
    : hidden_(hidden), directions_(bidirectional ? 2 : 1) {
  if (in < 1 || hidden < 1 || layers < 1) {
    fail("{}: {} inputs, {} hidden, {} layers; each must be at least 1", name, in, hidden, layers);
  }
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (int64_t layer = 0; layer < layers; ++layer) {
    const int64_t width = layer == 0 ? in : hidden * directions_;
    for (int direction = 0; direction < directions_; ++direction) {
      const auto made = [&](const char* weight, std::vector<Axis> axes) {
        Tensor x = Tensor::zeros(axes);
        init::uniform_(x, -bound, bound, nullptr, where);
        return parameter(fmt::format("{}_l{}{}", weight, layer, direction == 1 ? "_reverse" : ""), x);
      };
      Direction part;
      part.w = made("weight_ih", {gates * hidden, width});
      part.r = made("weight_hh", {gates * hidden, hidden});
      part.bias_w = made("bias_ih", {gates * hidden});
      part.bias_r = made("bias_hh", {gates * hidden});
      parts_.push_back(std::move(part));
    }
  }
}

Tensor Recurrent::reordered(const Tensor& gates, const std::vector<int64_t>& order) const {
  std::vector<Tensor> rows;
  for (const int64_t gate : order) {
    rows.push_back(gates.narrow(0, gate * hidden_, hidden_));
  }
  return concat(rows, 0);
}

std::vector<Tensor> Recurrent::through_layers(const Tensor& x, const Run& run) const {
  Tensor y = x.transpose({1, 0, 2});
  std::vector<std::vector<Tensor>> states;
  for (size_t i = 0; i < parts_.size(); i += static_cast<size_t>(directions_)) {
    std::vector<Tensor> outputs;
    for (size_t k = i; k < i + static_cast<size_t>(directions_); ++k) {
      const std::vector<Tensor> found = run(parts_[k], y, k, k > i);
      outputs.push_back(found[0]);
      states.resize(found.size() - 1);
      for (size_t s = 0; s < states.size(); ++s) {
        states[s].push_back(found[s + 1]);
      }
    }
    y = outputs.size() == 1 ? outputs[0] : concat(outputs, 2);
  }
  std::vector<Tensor> results{y.transpose({1, 0, 2})};
  for (const std::vector<Tensor>& each : states) {
    results.push_back(stack(each, 0));
  }
  return results;
}

namespace {

/// That of a layer and direction; not defined where there is none at all.
Tensor state_of(const Tensor& all, size_t number) {
  return all.defined() ? all[static_cast<int64_t>(number)] : Tensor();
}

}  // namespace

LSTM::LSTM(int64_t in, int64_t hidden, int64_t layers, bool bidirectional, Tensor::Where where)
    : Recurrent("LSTM", 4, in, hidden, layers, bidirectional, where) {}

LstmResult LSTM::operator()(const Tensor& x, const Tensor& h, const Tensor& c) const {
  if (h.defined() != c.defined()) {
    fail("LSTM: an initial h needs a c, and a c an h");
  }
  // PyTorch has the gates as input, forget, cell, output; the builder takes input, output, forget, cell.
  const auto ordered = [&](const Tensor& gates) { return reordered(gates, {0, 3, 1, 2}); };
  const std::vector<Tensor> found =
      through_layers(x, [&](const Direction& part, const Tensor& y, size_t number, bool reverse) {
        const Tensor bias = concat({ordered(part.bias_w), ordered(part.bias_r)}, 0);
        return lstm(y, ordered(part.w), ordered(part.r), bias, state_of(h, number), state_of(c, number), reverse);
      });
  return {.outputs = found[0], .h = found[1], .c = found[2]};
}

GRU::GRU(int64_t in, int64_t hidden, int64_t layers, bool bidirectional, Tensor::Where where)
    : Recurrent("GRU", 3, in, hidden, layers, bidirectional, where) {}

GruResult GRU::operator()(const Tensor& x, const Tensor& h) const {
  // PyTorch has the gates as reset, update, new; the builder takes update, reset, new.
  const auto ordered = [&](const Tensor& gates) { return reordered(gates, {1, 0, 2}); };
  const std::vector<Tensor> found =
      through_layers(x, [&](const Direction& part, const Tensor& y, size_t number, bool reverse) {
        const Tensor bias = concat({ordered(part.bias_w), ordered(part.bias_r)}, 0);
        return gru(y, ordered(part.w), ordered(part.r), bias, state_of(h, number), reverse, true);
      });
  return {.outputs = found[0], .h = found[1]};
}

}  // namespace tenon::nn
