// Recurrent cells, each one step on projected inputs; and sequences, which project all inputs at once and scan the
// step.
#include "tenon/recurrent.h"

#include "base/refused.h"
#include "ops/axes.h"
#include "ops/composites/composite.h"
#include "tenon/control.h"

namespace tenon {
namespace {

/// Weights in the wide dtype, checked against the number of gates.
class Recurrence {
 public:
  Recurrence(const Value& x, const Value& w, const Value& r, const Value& bias, int64_t gates) : x_(x), gates_(gates) {
    require_float(x, "x");
    require_float(w, "w");
    require_float(r, "r");
    if (w.rank() != 2 || r.rank() != 2) {
      refuse("`w` and `r` have ranks {} and {}, must be [{} * hidden, in] and [{} * hidden, hidden]", w.rank(),
             r.rank(), gates, gates);
    }
    const Extent& hidden = r.extent(1);
    require_size(w.extent(0), gates * hidden, "`w` has {} rows, must have {} * hidden, which is {}");
    require_size(r.extent(0), gates * hidden, "`r` has {} rows, must have {} * hidden, which is {}");
    std::vector<Constraint> unused;
    match_axes(x, x.rank() - 1, w, 1, unused);
    // The last but one axis of x is the batch, in cells and in sequences.
    state_axes_ = {x.shape().axis(-2), r.shape().axis(1)};
    projected_ = split(contract(x, w, {.lhs_contract = {-1}, .rhs_contract = {1}}, compute_dtype(x.dtype())));
    r_ = widen(r);
    if (bias) {
      require_float(bias, "bias");
      if (bias.rank() != 1) {
        refuse("`bias` has rank {}, must be [{} * hidden]", bias.rank(), 2 * gates);
      }
      require_size(bias.extent(0), 2 * gates * hidden,
                   "`bias` has {} elements, must have 2 * {} * hidden, which is {}");
      const Value both = reshape(widen(bias), {2, gates, state_axes_[1]});
      projected_ = projected_ + squeeze(slice_axis(both, 0, 0, 1), {0});
      r_bias_ = squeeze(slice_axis(both, 0, 1, 2), {0});
    }
  }

  /// x w^T and its bias: [..., batch, gates, hidden].
  const Value& projected() const { return projected_; }

  /// h r^T and its bias: [batch, gates, hidden].
  Value recur(const Value& h) const {
    const Value product = split(contract(h, r_, {.lhs_contract = {-1}, .rhs_contract = {1}}));
    return r_bias_ ? product + r_bias_ : product;
  }

  /// h times the rows of r for one gate, and their bias: [batch, hidden].
  Value recur_gate(const Value& h, int64_t gate) const {
    const Value rows = reshape(r_, {gates_, state_axes_[1], state_axes_[1]});
    const Value product = contract(h, take_gate(rows, 0, gate), {.lhs_contract = {-1}, .rhs_contract = {1}});
    return r_bias_ ? product + take_gate(r_bias_, 0, gate) : product;
  }

  /// One gate of [..., gates, hidden].
  static Value gate(const Value& all, int64_t gate) { return take_gate(all, -2, gate); }

  /// A state in the wide dtype and the axes that the step gives back; zeros for none.
  Value state(const Value& given, std::string_view name) const {
    if (!given) {
      return full(Shape(r_.dtype(), state_axes_), 0);
    }
    require_float(given, name);
    if (given.rank() != 2) {
      refuse("`{}` has rank {}, must be [batch, hidden]", name, given.rank());
    }
    std::vector<Constraint> unused;
    match_axes(x_, x_.rank() - 2, given, 0, unused);
    match_axes(r_, 1, given, 1, unused);
    return checked_state(widen(given));
  }

  /// With exactly the axes of a state, whatever names its parts had.
  Value checked_state(const Value& x) const { return reshape(x, state_axes_); }

 private:
  void require_size(const Extent& given, const Extent& wanted,
                    fmt::format_string<std::string, int64_t, std::string> text) const {
    if (compare(given, wanted) == Comparison::different) {
      refuse(text, given.to_string(), int64_t{gates_}, wanted.to_string());
    }
  }

  Value split(const Value& x) const {
    std::vector<Axis> to(x.shape().axes().begin(), x.shape().axes().end() - 1);
    to.emplace_back(gates_);
    to.push_back(state_axes_[1]);
    return reshape(x, to);
  }

  static Value take_gate(const Value& x, int axis, int64_t i) { return squeeze(slice_axis(x, axis, i, i + 1), {axis}); }

  Value x_;
  int64_t gates_;
  std::vector<Axis> state_axes_;
  Value projected_;
  Value r_;
  Value r_bias_;
};

/// What tells RNN, LSTM and GRU apart: the number of gates, which states there are, and one step from projected inputs
/// and states to states.
struct Kind {
  std::string_view sequence;
  std::string_view cell;
  int64_t gates;
  bool has_cell_state;
  std::function<RecurrentState(const Recurrence&, const Value& inputs, const RecurrentState& state)> step;
};

Kind rnn_kind(std::string_view activation) {
  return {.sequence = "rnn",
          .cell = "rnn_cell",
          .gates = 1,
          .has_cell_state = false,
          .step = [activation](const Recurrence& to, const Value& inputs, const RecurrentState& state) {
            return RecurrentState{map(activation, {Recurrence::gate(inputs + to.recur(state.h), 0)})};
          }};
}

Kind lstm_kind() {
  return {.sequence = "lstm",
          .cell = "lstm_cell",
          .gates = 4,
          .has_cell_state = true,
          .step = [](const Recurrence& to, const Value& inputs, const RecurrentState& state) {
            const Value all = inputs + to.recur(state.h);
            const Value i = sigmoid(Recurrence::gate(all, 0));
            const Value o = sigmoid(Recurrence::gate(all, 1));
            const Value f = sigmoid(Recurrence::gate(all, 2));
            const Value c = f * state.c + i * tanh(Recurrence::gate(all, 3));
            return RecurrentState{o * tanh(c), c};
          }};
}

Kind gru_kind(bool linear_before_reset) {
  return {.sequence = "gru",
          .cell = "gru_cell",
          .gates = 3,
          .has_cell_state = false,
          .step = [linear_before_reset](const Recurrence& to, const Value& inputs, const RecurrentState& state) {
            const Value recurred = to.recur(state.h);
            const auto gate = [&](int64_t k) {
              return sigmoid(Recurrence::gate(inputs, k) + Recurrence::gate(recurred, k));
            };
            const Value z = gate(0);
            const Value r = gate(1);
            const Value past = linear_before_reset ? r * Recurrence::gate(recurred, 2) : to.recur_gate(r * state.h, 2);
            const Value n = tanh(Recurrence::gate(inputs, 2) + past);
            return RecurrentState{(1.0 - z) * n + z * state.h};
          }};
}

std::vector<NamedPart> parts_of(const Kind& kind, const Value& x, const RecurrentState& state,
                                const RecurrentWeights& weights) {
  std::vector<NamedPart> parts{{"x", x}, {"w", weights.w}, {"r", weights.r}, {"bias", weights.bias}, {"h", state.h}};
  if (kind.has_cell_state) {
    parts.push_back({"c", state.c});
  }
  return parts;
}

Recurrence recurrence(const Kind& kind, const Parts& in, int rank, std::string_view layout) {
  require_float(in[0], "x");
  if (in[0].rank() != rank) {
    refuse("`x` has rank {}, must be {}", in[0].rank(), layout);
  }
  return {in[0], in[1], in[2], in[3], kind.gates};
}

RecurrentState initial_state(const Kind& kind, const Recurrence& to, const Parts& in) {
  return {to.state(in[4], "h"), kind.has_cell_state ? to.state(in[5], "c") : Value()};
}

RecurrentState run_cell(const Kind& kind, const Value& x, const RecurrentState& state,
                        const RecurrentWeights& weights) {
  const auto build = [&](const Parts& in) -> std::vector<Output> {
    const Recurrence to = recurrence(kind, in, 2, "[batch, in]");
    const RecurrentState next = kind.step(to, to.projected(), initial_state(kind, to, in));
    std::vector<Output> outputs{{"h", cast(to.checked_state(next.h), x.dtype())}};
    if (kind.has_cell_state) {
      outputs.push_back({"c", cast(to.checked_state(next.c), x.dtype())});
    }
    return outputs;
  };
  const std::vector<Value> results = composites_of(kind.cell, parts_of(kind, x, state, weights), build);
  return {results[0], kind.has_cell_state ? results[1] : Value()};
}

RecurrentResult run_sequence(const Kind& kind, const Value& x, const RecurrentWeights& weights,
                             const RecurrentOptions& options) {
  const auto build = [&](const Parts& in) -> std::vector<Output> {
    const Recurrence to = recurrence(kind, in, 3, "[seq, batch, in]");
    const RecurrentState first = initial_state(kind, to, in);
    const std::vector<Value> carried =
        kind.has_cell_state ? std::vector<Value>{first.h, first.c} : std::vector<Value>{first.h};
    const Value inputs = options.reverse ? flip(to.projected(), {0}) : to.projected();
    const ScanStep done =
        scan(carried, {inputs}, [&](const Value&, const std::vector<Value>& state, const std::vector<Value>& element) {
          const RecurrentState now{state[0], kind.has_cell_state ? state[1] : Value()};
          const RecurrentState next = kind.step(to, element[0], now);
          const Value h = to.checked_state(next.h);
          ScanStep step{{h}, {h}};
          if (kind.has_cell_state) {
            step.carried.push_back(to.checked_state(next.c));
          }
          return step;
        });
    const Value stacked = options.reverse ? flip(done.stacked[0], {0}) : done.stacked[0];
    std::vector<Output> outputs{{"outputs", cast(stacked, x.dtype())}, {"h", cast(done.carried[0], x.dtype())}};
    if (kind.has_cell_state) {
      outputs.push_back({"c", cast(done.carried[1], x.dtype())});
    }
    return outputs;
  };
  const std::vector<Value> results = composites_of(kind.sequence, parts_of(kind, x, options.initial, weights), build);
  return {results[0], {results[1], kind.has_cell_state ? results[2] : Value()}};
}

Value stack_pair(const Value& a, const Value& b) { return concat({expand_dims(a, {0}), expand_dims(b, {0})}, 0); }

}  // namespace

Value rnn_cell(const Value& x, const Value& h, const RecurrentWeights& weights, std::string_view activation) {
  return run_cell(rnn_kind(activation), x, {h}, weights).h;
}

RecurrentState lstm_cell(const Value& x, const RecurrentState& state, const RecurrentWeights& weights) {
  return run_cell(lstm_kind(), x, state, weights);
}

Value gru_cell(const Value& x, const Value& h, const RecurrentWeights& weights, bool linear_before_reset) {
  return run_cell(gru_kind(linear_before_reset), x, {h}, weights).h;
}

RecurrentResult rnn(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options) {
  return run_sequence(rnn_kind(options.activation), x, weights, options);
}

RecurrentResult lstm(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options) {
  return run_sequence(lstm_kind(), x, weights, options);
}

RecurrentResult gru(const Value& x, const RecurrentWeights& weights, const RecurrentOptions& options) {
  return run_sequence(gru_kind(options.linear_before_reset), x, weights, options);
}

RecurrentResult bidirectional(const RecurrentResult& forward, const RecurrentResult& backward) {
  RecurrentResult both;
  both.outputs = concat({forward.outputs, backward.outputs}, -1);
  both.last.h = stack_pair(forward.last.h, backward.last.h);
  if (forward.last.c && backward.last.c) {
    both.last.c = stack_pair(forward.last.c, backward.last.c);
  }
  return both;
}

}  // namespace tenon
