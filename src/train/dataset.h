// Examples to train on: arrays held against a model, and batches of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/graph.h"
#include "train/objective.h"

namespace tenon::train {

/// One input of all examples.
struct Column {
  Array values;
  int axis = 0;  // that of the examples; -1: the same for all of them
};

struct Dataset {
  std::vector<Column> columns;              // of the data inputs, then of the target
  int64_t count = 0;                        // examples
  std::optional<int64_t> fixed_batch = {};  // the model takes batches of this size alone
  Bindings sizes = {};                      // of names that no column determines

  /// The examples at these positions, as arguments.
  std::vector<Array> batch(std::span<const int64_t> positions) const;
};

/// The target as the loss takes it: integers of any width are labels, booleans and floats become the output's dtype.
/// Errors: integers where numbers are wanted or the other way round; a label that is no class.
Array fit_target(const Array& target, const Objective& objective);

/// `inputs` are those of loss_graph(): arrays[i] is all examples of input i. Examples lie along the axis called
/// `batch`, or along the first axis of the first input. `sizes` are of names that no array determines. Errors name the
/// input, the axis and both sizes: a dtype or a size that is not the model's, columns of different lengths; no
/// examples.
Dataset make_dataset(std::span<const Value> inputs, std::vector<Array> arrays, const Bindings& sizes = {});

/// 0 ... count-1 in an order that is the same for the same seed and round, on every machine.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, uint64_t round);

}  // namespace tenon::train
