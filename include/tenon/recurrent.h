// Recurrent layers: cells, and sequences over [seq, batch, feature] by a scan, so `seq` may be symbolic. All are
// composites. On f16 and bf16 they compute, and carry states, in f32 and round at the end.
#pragma once

#include <string_view>

#include "tenon/ops.h"

namespace tenon {

/// As in ONNX: w is [gates * hidden, in] and r is [gates * hidden, hidden], with the rows of one gate after those of
/// another: i, o, f, c (input, output, forget, cell) for LSTM, z, r, h (update, reset, hidden) for GRU, one for RNN.
/// The bias is [2 * gates * hidden]: of w, then of r.
struct RecurrentWeights {
  Value w;
  Value r;
  Value bias = {};
};

struct RecurrentState {
  Value h;       // [batch, hidden]
  Value c = {};  // [batch, hidden], of LSTM alone
};

/// activation(x w^T + h r^T + bias) for x[batch, in].
Value rnn_cell(const Value& x, const Value& h, const RecurrentWeights& weights, std::string_view activation = "tanh");
/// c = f * c + i * tanh(...), h = o * tanh(c).
RecurrentState lstm_cell(const Value& x, const RecurrentState& state, const RecurrentWeights& weights);
/// h = (1 - z) * n + z * h, where n = tanh(x w_h^T + (r * h) r_h^T + bias) or, with linear_before_reset,
/// tanh(x w_h^T + r * (h r_h^T + bias of r) + bias of w), which is PyTorch's.
Value gru_cell(const Value& x, const Value& h, const RecurrentWeights& weights, bool linear_before_reset = false);

struct RecurrentOptions {
  RecurrentState initial = {};           // zeros where empty
  bool reverse = false;                  // from the last element to the first; outputs stay where their element is
  std::string_view activation = "tanh";  // of RNN alone
  bool linear_before_reset = false;      // of GRU alone
};

struct RecurrentResult {
  Value outputs;        // [seq, batch, hidden]: h after each element
  RecurrentState last;  // after all of them; the initial state for none
};

RecurrentResult rnn(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options = {});
RecurrentResult lstm(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options = {});
RecurrentResult gru(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options = {});

/// Both directions as one: outputs [seq, batch, 2 * hidden], states [2, batch, hidden].
RecurrentResult bidirectional(const RecurrentResult& forward, const RecurrentResult& backward);

}  // namespace tenon
