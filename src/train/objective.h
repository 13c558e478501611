// What training makes small: losses by name, and the graphs that compute one for a model.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/models.h"

namespace tenon::train {

struct LossKind {
  std::string_view name;
  std::string_view doc;
  bool labels = false;  // the target is integers below the number of classes; else it has the output's shape
  Value (*build)(const Value& y, const Value& target, int axis) = nullptr;
};
std::span<const LossKind> loss_table();
/// An Error that lists what there is.
const LossKind& find_loss(std::string_view name);

struct ObjectiveOptions {
  std::string loss = {};             // by name; empty: cross_entropy for an output called `logits`, else mse
  std::string output = {};           // of the model, by name; empty: the first
  std::optional<int64_t> axis = {};  // of the classes; else 1 for four axes and more (images), the last for fewer

  friend bool operator==(const ObjectiveOptions&, const ObjectiveOptions&) = default;
};

/// A loss of one output of a model.
struct Objective {
  const LossKind* kind = nullptr;
  size_t output = 0;
  int axis = 0;  // of the classes
  Shape target;  // what the loss takes beside the output
  int64_t classes = 0;
};
/// Errors: names that there are not; an output that is no float, or that has no classes for a loss of labels.
Objective make_objective(const Model& model, const ObjectiveOptions& options);

/// data..., target, parameters... -> loss, and the statistics that the model updates in place.
Graph loss_graph(const Model& model, const Objective& objective);
/// data..., target, parameters... -> loss and, for labels, how many of them the largest logit hits.
Graph score_graph(const Model& model, const Objective& objective);

}  // namespace tenon::train
