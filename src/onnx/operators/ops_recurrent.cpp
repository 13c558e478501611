// RNN, LSTM and GRU: layers of tenon/recurrent.h where those are all that is asked for, else scans of a cell.
#include "base/fail.h"
#include "base/refused.h"
#include "onnx/import/registry.h"
#include "onnx/operators/quantised.h"
#include "onnx/operators/recurrent_cell.h"
#include "ops/needed_by.h"
#include "tenon/control.h"
#include "tenon/indexing.h"
#include "tenon/recurrent.h"

namespace tenon::importer {
namespace {

/// One direction of a layer, without the axis of directions.
struct Direction {
  RecurrentWeights weights;
  QuantisedWeights quantised;
  Value peepholes;
  RecurrentState initial;
  CellActivations activations;
  bool reverse = false;
};

struct Layer {
  CellKind kind = CellKind::rnn;
  Value x;        // [seq, batch, in]
  Value lengths;  // [batch] or none
  CellOptions cell;
};

/// All elements of all sequences in reverse, those behind the end of a sequence left where they are.
Value reversed(const Value& x, const Value& lengths) {
  if (!lengths) {
    return flip(x, {0});
  }
  const Value position = iota(x.shape().with_dtype(Dtype::i64), 0);
  const Value length = expand_dims(cast(lengths, Dtype::i64), {1});  // [batch, 1] beside [seq, batch, feature]
  return take_along_axis(x, select(lt(position, length), length - position - 1, position), 0);
}

/// By a scan of the cell; a sequence that has ended keeps its states and gives zeros.
RecurrentResult run_cells(const Layer& layer, const Direction& direction) {
  const Cell cell(layer.kind, direction.weights, direction.quantised, direction.peepholes, direction.activations,
                  layer.cell);
  const Value x = cell.prepared(direction.reverse ? reversed(layer.x, layer.lengths) : layer.x);
  const Axis& batch = x.shape().axis(1);
  const Axis hidden = direction.weights.r.shape().axis(-1);
  const Value zeros = full(Shape(x.dtype(), {batch, hidden}), 0);
  const auto state = [&](const Value& given) { return given ? reshape(given, {batch, hidden}) : zeros; };
  const bool has_c = layer.kind == CellKind::lstm;
  std::vector<Value> carried = {state(direction.initial.h)};
  if (has_c) {
    carried.push_back(state(direction.initial.c));
  }
  const ScanStep result = scan(
      carried, {x}, [&](const Value& iteration, const std::vector<Value>& states, const std::vector<Value>& elements) {
        const RecurrentState next = cell.step(elements[0], {states[0], has_c ? states[1] : Value()});
        std::vector<Value> updated = {next.h};
        if (has_c) {
          updated.push_back(next.c);
        }
        Value output = next.h;
        if (layer.lengths) {
          const Value runs = expand_dims(lt(iteration, cast(layer.lengths, Dtype::i64)), {1});
          output = select(runs, next.h, 0);
          for (size_t i = 0; i < updated.size(); ++i) {
            updated[i] = select(runs, updated[i], states[i]);
          }
        }
        for (Value& value : updated) {
          value = reshape(value, {batch, hidden});
        }
        return ScanStep{.carried = updated, .stacked = {reshape(output, {batch, hidden})}};
      });
  const Value outputs = direction.reverse ? reversed(result.stacked[0], layer.lengths) : result.stacked[0];
  return {outputs, {result.carried[0], has_c ? result.carried[1] : Value()}};
}

RecurrentResult run_direction(const Layer& layer, const Direction& direction) {
  const bool is_plain = !layer.lengths && !direction.peepholes && layer.cell.clip == 0 && !layer.cell.input_forget &&
                        direction.quantised.call == nullptr && direction.activations.are_default(layer.kind);
  if (!is_plain) {
    return run_cells(layer, direction);
  }
  const RecurrentOptions options{.initial = direction.initial,
                                 .reverse = direction.reverse,
                                 .linear_before_reset = layer.cell.linear_before_reset};
  switch (layer.kind) {
    case CellKind::rnn: return rnn(layer.x, direction.weights, options);
    case CellKind::gru: return gru(layer.x, direction.weights, options);
    case CellKind::lstm: return lstm(layer.x, direction.weights, options);
  }
  TENON_CHECK(false);
}

/// Element `i` along the first axis, or none.
Value row_of(const Value& x, int64_t i) { return x ? squeeze(slice_axis(x, 0, i, i + 1), {0}) : x; }

/// States come as [directions, batch, hidden]; with layout 1 the batch comes first.
Value directions_first(const Value& x, bool batch_first) { return x && batch_first ? transpose(x, {1, 0, 2}) : x; }

/// Lengths that a run computes, looked up in a table of those that can be: others are told, as gather tells them.
Value checked_lengths(const NodeCall& call, const Value& lengths, const Value& x) {
  const Place place(NeededBy::place_of("a length", call.type()));
  const Value table = iota(Shape(Dtype::i64, {x.extent(0) + 1}), 0);
  return take(table, cast(lengths, Dtype::u64), 0);
}

/// Lengths that say what the shape says too need no attention.
Value lengths_of(const NodeCall& call, const Value& x) {
  const Value lengths = call.x_or_none(4);
  if (!lengths) {
    return {};
  }
  call.require_size(lengths, 0, x.extent(1), "sequence_lens");
  const std::optional<Array> known = call.known_array(lengths);
  if (!known) {
    return checked_lengths(call, lengths, x);
  }
  bool are_all = true;
  for (int64_t i = 0; i < known->size(); ++i) {
    const auto length = static_cast<int64_t>(known->at(i));
    if (length < 0 || proves_at_least(length, x.extent(0) + 1)) {
      refuse("sequence_lens has {}, must be from 0 to {}, the first axis of X", length, x.extent(0).to_string());
    }
    call.require_at_least(x.extent(0), length, "sequence_lens");
    are_all = are_all && x.extent(0) == Extent(length);
  }
  return are_all ? Value() : lengths;
}

/// The weights of a layer: [direction, gates, in], or [direction, in, gates] of integers.
struct LayerWeights {
  Value w, r;
  QuantisedMatrix quantised_w = {}, quantised_r = {};

  bool are_quantised() const { return static_cast<bool>(quantised_w.integers); }
  QuantisedWeights quantised(const NodeCall& call, int64_t direction) const {
    const auto part = [&](const QuantisedMatrix& all) {
      return QuantisedMatrix{row_of(all.integers, direction), row_of(all.scale, direction),
                             row_of(all.zero, direction)};
    };
    return are_quantised() ? QuantisedWeights{&call, part(quantised_w), part(quantised_r)} : QuantisedWeights();
  }
};

Results recurrent(const NodeCall& call, CellKind kind, const LayerWeights& weights) {
  const bool batch_first = call.version() >= 14 && call.flag("layout");
  const std::string direction = call.text_attribute("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    refuse("direction is `{}`, must be forward, reverse or bidirectional", direction);
  }
  Layer layer{.kind = kind,
              .x = batch_first ? transpose(call.x(0), {1, 0, 2}) : call.x(0),
              .lengths = {},
              .cell = {.clip = call.number_attribute("clip", 0),
                       .linear_before_reset = call.flag("linear_before_reset"),
                       .input_forget = call.flag("input_forget")}};
  layer.lengths = lengths_of(call, layer.x);
  const auto state = [&](size_t operand, std::string_view what) {
    const Value given = call.x_or_none(operand);
    if (given && given.dtype() != layer.x.dtype()) {
      refuse("{} is {}, must be {} as the input is", what, given.shape().to_string(), name(layer.x.dtype()));
    }
    return directions_first(given, batch_first);
  };
  const Value h = state(5, "initial_h");
  const Value c = kind == CellKind::lstm ? state(6, "initial_c") : Value();
  const int64_t count = direction == "bidirectional" ? 2 : 1;
  std::vector<Value> outputs;
  std::vector<Value> last_h;
  std::vector<Value> last_c;
  for (int64_t i = 0; i < count; ++i) {
    const RecurrentResult result = run_direction(
        layer, {.weights = {.w = row_of(weights.w, i), .r = row_of(weights.r, i), .bias = row_of(call.x_or_none(3), i)},
                .quantised = weights.quantised(call, i),
                .peepholes = kind == CellKind::lstm ? row_of(call.x_or_none(7), i) : Value(),
                .initial = {row_of(h, i), row_of(c, i)},
                .activations = read_activations(call, kind, static_cast<size_t>(i)),
                .reverse = direction == "reverse" || i == 1});
    outputs.push_back(result.outputs);
    last_h.push_back(result.last.h);
    last_c.push_back(result.last.c);
  }
  // [seq, directions, batch, hidden] and [directions, batch, hidden]; the batch first with layout 1.
  const Value y = stack(outputs, 1);
  std::vector<Value> results = {batch_first ? transpose(y, {2, 0, 1, 3}) : y,
                                directions_first(stack(last_h, 0), batch_first)};
  if (kind == CellKind::lstm) {
    results.push_back(directions_first(stack(last_c, 0), batch_first));
  }
  return results;
}

Results recurrent(const NodeCall& call, CellKind kind) {
  if (call.has_attribute("hidden_size")) {
    call.require_size(call.x(2), -1, call.attribute("hidden_size", 0), "R");
  }
  return recurrent(call, kind, {call.x(1), call.x(2)});
}

/// Both products are of integers: weights as they come, the input and the state by their range.
Results dynamic_lstm(const NodeCall& call) {
  const auto turned = [](const Value& x) { return transpose(x, {0, 2, 1}); };  // for its shape alone
  return recurrent(call, CellKind::lstm,
                   {.w = turned(call.x(1)),
                    .r = turned(call.x(2)),
                    .quantised_w = {call.x(1), call.x(8), call.x_or_none(9)},
                    .quantised_r = {call.x(2), call.x(10), call.x_or_none(11)}});
}

}  // namespace

std::vector<OperatorEntry> recurrent_operators() {
  return {
      {"", "RNN", 1, [](const NodeCall& call) { return recurrent(call, CellKind::rnn); }},
      {"", "GRU", 1, [](const NodeCall& call) { return recurrent(call, CellKind::gru); }},
      {"", "LSTM", 1, [](const NodeCall& call) { return recurrent(call, CellKind::lstm); }},
      {kMicrosoft, "DynamicQuantizeLSTM", 1, dynamic_lstm},
  };
}

}  // namespace tenon::importer
