// What every model is built with: named parameters, and the layers that own some.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/models.h"
#include "tenon/ops.h"

namespace tenon {

/// An Error when an option of a model does not hold: `vit: option patch must divide the image's size`.
void require_option(std::string_view model, std::string_view option, bool holds, std::string_view rule);

/// Collects inputs, parameters and state updates while a model is built.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::string name) : name_(std::move(name)) {}

  Value data(const std::string& name, const Shape& shape);

  /// A parameter called by the open scopes and `name`: `layers.0.attention.query.weight`.
  Value parameter(const std::string& name, std::vector<Axis> axes, Init init, double scale = 1);
  Value statistic(const std::string& name, std::vector<Axis> axes, Init init);
  /// `value` becomes what `statistic` is after this run.
  void update(const Value& statistic, const Value& value);

  Model finish(std::vector<Output> outputs);

  /// While it lives, parameters and places are named below `name`.
  class Scope {
   public:
    Scope(ModelBuilder& builder, const std::string& name);
    Scope(ModelBuilder& builder, const std::string& name, int number);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ModelBuilder& builder_;
    std::string previous_;
    Place place_;
  };

 private:
  struct Update {
    Value statistic;
    Value value;
  };

  Value add(Parameter parameter);

  std::string name_;
  std::string scope_;  // with a dot at the end, or empty
  std::vector<Value> data_;
  std::vector<Value> values_;
  std::vector<Parameter> parameters_;
  std::vector<Update> updates_;
};

/// What `build` gives, with its parameters and places named below `name`.
template <class Build>
auto within(ModelBuilder& model, const std::string& name, Build&& build) {
  const ModelBuilder::Scope scope(model, name);
  return build();
}

}  // namespace tenon
