#include "runtime/binder.h"

#include <cstring>
#include <utility>

#include "base/fail.h"

namespace tenon::runtime {
namespace {

/// A name and its size as numbers that no other name and size give.
void append(std::vector<int64_t>& key, std::string_view name, int64_t size) {
  key.push_back(static_cast<int64_t>(name.size()));
  for (size_t at = 0; at < name.size(); at += sizeof(int64_t)) {
    const std::string_view part = name.substr(at, sizeof(int64_t));
    int64_t word = 0;
    std::memcpy(&word, part.data(), part.size());
    key.push_back(word);
  }
  key.push_back(size);
}

}  // namespace

Binder::Binder(const Program& program, ConstraintSet constraints)
    : program_(program), constraints_(std::move(constraints)) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const std::vector<Axis>& axes = program.inputs[i].shape.axes();
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      if (std::string name = axes[axis].name(); !name.empty()) {
        shown_.try_emplace(std::move(name), Position{i, axis});
      }
    }
  }
}

std::vector<ConcreteInput> Binder::describe(std::span<const Array> inputs) const {
  if (inputs.size() != program_.inputs.size()) {
    fail("graph `{}` takes {} inputs, not {}", program_.name, program_.inputs.size(), inputs.size());
  }
  std::vector<ConcreteInput> described;
  for (size_t i = 0; i < inputs.size(); ++i) {
    described.push_back({.name = program_.inputs[i].name,
                         .pattern = program_.inputs[i].shape,
                         .dtype = inputs[i].dtype(),
                         .dims = inputs[i].dims()});
  }
  return described;
}

Bindings Binder::constrained(Bindings bindings, const Bindings& known) const {
  for (const auto& [name, size] : known) {
    bindings.set(name, size);
  }
  constraints_.check(bindings);
  return constraints_.complete(bindings);
}

Bindings Binder::bind(std::span<const Array> inputs, const Bindings& known) const {
  return constrained(extract(describe(inputs)), known);
}

Bindings Binder::bind_ahead(const Bindings& bindings, std::vector<int64_t>& key) const {
  const Bindings complete = constraints_.complete(bindings);
  std::vector<ConcreteInput> inputs;
  key.clear();
  for (const ProgramInput& input : program_.inputs) {
    const Shape shape = resolve(input.shape, complete);
    inputs.push_back({.name = input.name, .pattern = input.shape, .dtype = shape.dtype(), .dims = shape.dims()});
    key.insert(key.end(), inputs.back().dims.begin(), inputs.back().dims.end());
  }
  Bindings found = extract(inputs);
  for (const auto& [name, size] : bindings) {
    if (!found.find(name)) {
      append(key, name, size);
    }
  }
  return constrained(std::move(found), bindings);
}

bool Binder::key(std::span<const Array> inputs, const Bindings& known, std::vector<int64_t>& key) const {
  key.clear();
  if (inputs.size() != program_.inputs.size()) {
    return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& pattern = program_.inputs[i].shape;
    if (inputs[i].dtype() != pattern.dtype() || inputs[i].rank() != pattern.rank()) {
      return false;
    }
    key.insert(key.end(), inputs[i].dims().begin(), inputs[i].dims().end());
  }
  for (const auto& [name, size] : known) {
    const auto shown = shown_.find(name);
    if (shown == shown_.end()) {
      append(key, name, size);
    } else if (inputs[shown->second.input].dims()[shown->second.axis] != size) {
      return false;
    }
  }
  return true;
}

}  // namespace tenon::runtime
