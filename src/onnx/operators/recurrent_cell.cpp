#include "onnx/operators/recurrent_cell.h"

#include <algorithm>

#include "base/fail.h"
#include "base/refused.h"
#include "onnx/operators/quantised.h"
#include "onnx/operators/quantised_product.h"

namespace tenon::importer {
namespace {

std::vector<std::string> default_names(CellKind kind) {
  switch (kind) {
    case CellKind::rnn: return {"tanh"};
    case CellKind::gru: return {"sigmoid", "tanh"};
    case CellKind::lstm: return {"sigmoid", "tanh", "tanh"};
  }
  TENON_CHECK(false);
}

int64_t gate_count(CellKind kind) { return kind == CellKind::rnn ? 1 : kind == CellKind::gru ? 3 : 4; }

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Parameters are taken from the lists by the functions that have them, in order.
struct ParameterLists {
  std::vector<double> alpha, beta;
  size_t next_alpha = 0, next_beta = 0;

  double take_alpha(double otherwise) { return next_alpha < alpha.size() ? alpha[next_alpha++] : otherwise; }
  double take_beta(double otherwise) { return next_beta < beta.size() ? beta[next_beta++] : otherwise; }
};

std::function<Value(const Value&)> activation(const std::string& name, ParameterLists& lists) {
  for (const std::string_view plain : {"tanh", "sigmoid", "relu", "softsign", "softplus"}) {
    if (name == plain) {
      return [plain](const Value& x) { return map(plain, {x}); };
    }
  }
  if (name == "affine") {
    return [a = lists.take_alpha(1), b = lists.take_beta(0)](const Value& x) { return x * a + b; };
  }
  if (name == "leakyrelu") {
    return [a = lists.take_alpha(0.01)](const Value& x) { return leaky_relu(x, a); };
  }
  if (name == "thresholdedrelu") {
    return [a = lists.take_alpha(1)](const Value& x) { return thresholded_relu(x, a); };
  }
  if (name == "scaledtanh") {
    return [a = lists.take_alpha(1), b = lists.take_beta(1)](const Value& x) { return tanh(x * b) * a; };
  }
  if (name == "hardsigmoid") {
    return [a = lists.take_alpha(0.2), b = lists.take_beta(0.5)](const Value& x) { return hard_sigmoid(x, a, b); };
  }
  if (name == "elu") {
    return [a = lists.take_alpha(1)](const Value& x) { return elu(x, a); };
  }
  refuse("there is no activation `{}`", name);
}

Value product(const Value& x, const Value& w) { return contract(x, w, {.lhs_contract = {-1}, .rhs_contract = {1}}); }

Value product(const NodeCall& call, const Value& x, const QuantisedMatrix& w) {
  const DynamicQuantised by = quantised_by_range(x);
  // Of one row, a product would quantise its elements again for each column.
  const Value bytes = barrier({by.x})[0];
  return cast(integer_product(call, bytes, by.zero, w.integers, w.zero), x.dtype()) * (by.scale * w.scale);
}

}  // namespace

bool CellActivations::are_default(CellKind kind) const { return names == default_names(kind); }

CellActivations read_activations(const NodeCall& call, CellKind kind, size_t direction) {
  CellActivations result{.names = default_names(kind), .functions = {}};
  const size_t count = result.names.size();
  const std::vector<std::string> given = call.texts_attribute("activations");
  if (!given.empty()) {
    if (given.size() < count * (direction + 1)) {
      refuse("{} activations are given, must be {} for each direction", given.size(), count);
    }
    for (size_t i = 0; i < count; ++i) {
      result.names[i] = lower(given[count * direction + i]);
    }
  }
  ParameterLists lists{.alpha = call.numbers_attribute("activation_alpha"),
                       .beta = call.numbers_attribute("activation_beta")};
  for (size_t i = 0; i < count * direction && i < given.size(); ++i) {
    activation(lower(given[i]), lists);  // those of the first direction come first
  }
  for (const std::string& each : result.names) {
    result.functions.push_back(activation(each, lists));
  }
  return result;
}

Cell::Cell(CellKind kind, RecurrentWeights weights, QuantisedWeights quantised, Value peepholes,
           CellActivations activations, CellOptions options)
    : kind_(kind),
      weights_(std::move(weights)),
      quantised_(std::move(quantised)),
      peepholes_(std::move(peepholes)),
      activations_(std::move(activations)),
      options_(options) {}

Value Cell::act(size_t function, const Value& x) const {
  const Value bounded = options_.clip > 0 ? clamp(x, -options_.clip, options_.clip) : x;
  return activations_.functions[function](bounded);
}

Value Cell::gate(const Value& all, int64_t i) const {
  const Extent hidden = weights_.r.extent(1);
  return slice_axis(all, -1, hidden * i, hidden * (i + 1));
}

/// The weights of a diagonal from the cell state to a gate, none without peepholes.
Value Cell::peephole(int64_t i, const Value& c) const {
  const Extent hidden = weights_.r.extent(1);
  return c * slice_axis(peepholes_, 0, hidden * i, hidden * (i + 1));
}

RecurrentState Cell::step_lstm(const std::vector<Value>& gates, const RecurrentState& state) const {
  const auto with = [&](const Value& sum, int64_t i, const Value& c) {
    return peepholes_ ? sum + peephole(i, c) : sum;
  };
  const Value i = act(0, with(gates[0], 0, state.c));
  const Value f = options_.input_forget ? 1.0 - i : act(0, with(gates[2], 2, state.c));
  const Value c = f * state.c + i * act(1, gates[3]);
  const Value o = act(0, with(gates[1], 1, c));
  return {o * act(2, c), c};
}

RecurrentState Cell::step_gru(const Value& x, const RecurrentState& state) const {
  const Extent hidden = weights_.r.extent(1);
  const auto rows = [&](const Value& w, int64_t i) { return slice_axis(w, 0, hidden * i, hidden * (i + 1)); };
  const auto bias = [&](int64_t i, const Value& sum) { return weights_.bias ? sum + rows(weights_.bias, i) : sum; };
  const auto plain = [&](int64_t i) {
    return act(0, bias(i + 3, bias(i, product(x, rows(weights_.w, i)) + product(state.h, rows(weights_.r, i)))));
  };
  const Value z = plain(0);
  const Value r = plain(1);
  const Value in = bias(2, product(x, rows(weights_.w, 2)));
  const Value past = options_.linear_before_reset ? r * bias(5, product(state.h, rows(weights_.r, 2)))
                                                  : bias(5, product(r * state.h, rows(weights_.r, 2)));
  const Value n = act(1, in + past);
  return {(1.0 - z) * n + z * state.h, {}};
}

Value Cell::prepared(const Value& x) const {
  if (kind_ == CellKind::gru) {
    return x;
  }
  return quantised_.call != nullptr ? product(*quantised_.call, x, quantised_.w) : product(x, weights_.w);
}

RecurrentState Cell::step(const Value& prepared_x, const RecurrentState& state) const {
  if (kind_ == CellKind::gru) {
    return step_gru(prepared_x, state);
  }
  const Value past =
      quantised_.call != nullptr ? product(*quantised_.call, state.h, quantised_.r) : product(state.h, weights_.r);
  Value sums = prepared_x + past;
  if (weights_.bias) {
    const Extent half = weights_.r.extent(1) * gate_count(kind_);
    sums = sums + slice_axis(weights_.bias, 0, 0, half) + slice_axis(weights_.bias, 0, half, half * 2);
  }
  if (kind_ == CellKind::rnn) {
    return {act(0, sums), {}};
  }
  return step_lstm({gate(sums, 0), gate(sums, 1), gate(sums, 2), gate(sums, 3)}, state);
}

}  // namespace tenon::importer
