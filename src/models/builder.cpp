#include "models/builder.h"

#include <algorithm>

#include "base/fail.h"

namespace tenon {

void require_option(std::string_view model, std::string_view option, bool holds, std::string_view rule) {
  if (!holds) {
    fail("{}: option `{}` must {}", model, option, rule);
  }
}

Value ModelBuilder::data(const std::string& name, const Shape& shape) {
  data_.push_back(input(name, shape));
  return data_.back();
}

Value ModelBuilder::parameter(const std::string& name, std::vector<Axis> axes, Init init, double scale) {
  return add({.name = scope_ + name, .shape = Shape(f32, std::move(axes)), .init = init, .scale = scale});
}

Value ModelBuilder::statistic(const std::string& name, std::vector<Axis> axes, Init init) {
  return add({.name = scope_ + name, .shape = Shape(f32, std::move(axes)), .init = init, .trainable = false});
}

Value ModelBuilder::add(Parameter parameter) {
  values_.push_back(input(parameter.name, parameter.shape));
  parameters_.push_back(std::move(parameter));
  return values_.back();
}

void ModelBuilder::update(const Value& statistic, const Value& value) { updates_.push_back({statistic, value}); }

Model ModelBuilder::finish(std::vector<Output> outputs) {
  std::vector<Value> inputs = data_;
  inputs.insert(inputs.end(), values_.begin(), values_.end());
  for (const Update& each : updates_) {
    const auto at = std::ranges::find(values_, each.statistic) - values_.begin();
    TENON_CHECK(at < std::ssize(values_), "an update of something that is no parameter");
    outputs.push_back({.name = "new_" + parameters_[static_cast<size_t>(at)].name,
                       .value = each.value,
                       .aliases = static_cast<int>(std::ssize(data_) + at)});
  }
  return {.graph = Graph(name_, std::move(inputs), std::move(outputs)),
          .data_inputs = data_.size(),
          .parameters = std::move(parameters_)};
}

ModelBuilder::Scope::Scope(ModelBuilder& builder, const std::string& name)
    : builder_(builder), previous_(builder.scope_), place_(builder.scope_ + name) {
  builder_.scope_ += name + ".";
}

ModelBuilder::Scope::Scope(ModelBuilder& builder, const std::string& name, int number)
    : Scope(builder, fmt::format("{}.{}", name, number)) {}

ModelBuilder::Scope::~Scope() { builder_.scope_ = previous_; }

}  // namespace tenon
