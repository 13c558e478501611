// Cells of RNN, LSTM and GRU with all that ONNX lets one choose.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "onnx/import/node_call.h"
#include "tenon/recurrent.h"

namespace tenon::importer {

enum class CellKind : uint8_t { rnn, gru, lstm };

/// The functions f, g and h of one direction.
struct CellActivations {
  std::vector<std::string> names;
  std::vector<std::function<Value(const Value&)>> functions;

  /// Tanh for RNN, Sigmoid and Tanh for GRU, Sigmoid, Tanh and Tanh for LSTM.
  bool are_default(CellKind kind) const;
};

CellActivations read_activations(const NodeCall& call, CellKind kind, size_t direction);

struct CellOptions {
  double clip = 0;  // 0: none
  bool linear_before_reset = false;
  bool input_forget = false;
};

/// Weights [in, gates] of integers, with one scale and zero point, or one for each gate. What meets them is rounded to
/// 256 steps of its range.
struct QuantisedMatrix {
  Value integers, scale, zero;  // zero may be none
};
/// What an LSTM has in the place of weights for input and state; `call` is none where it has not.
struct QuantisedWeights {
  const NodeCall* call = nullptr;
  QuantisedMatrix w = {}, r = {};
};

/// One step from an element and states [batch, hidden] to states.
class Cell {
 public:
  Cell(CellKind kind, RecurrentWeights weights, QuantisedWeights quantised, Value peepholes,
       CellActivations activations, CellOptions options);

  /// What a step needs of elements [..., in]: of a GRU all, else their products with the weights of all gates, which
  /// are those of the whole sequence at once.
  Value prepared(const Value& x) const;
  RecurrentState step(const Value& prepared_x, const RecurrentState& state) const;

 private:
  RecurrentState step_lstm(const std::vector<Value>& gates, const RecurrentState& state) const;
  RecurrentState step_gru(const Value& x, const RecurrentState& state) const;
  Value act(size_t function, const Value& x) const;
  Value peephole(int64_t i, const Value& c) const;
  /// Gate `i` of something with all gates along its last axis.
  Value gate(const Value& all, int64_t i) const;

  CellKind kind_;
  RecurrentWeights weights_;
  QuantisedWeights quantised_;
  Value peepholes_;
  CellActivations activations_;
  CellOptions options_;
};

}  // namespace tenon::importer
