#include "mesh/run/bind_given.h"

namespace tenon::mesh {

Bindings bind_given(const Signature& whole, const ConstraintSet& constraints, std::span<const Array* const> inputs,
                    const Bindings& known) {
  std::vector<ConcreteInput> concrete;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    concrete.push_back({.name = whole.inputs[i].name,
                        .pattern = whole.inputs[i].shape,
                        .dtype = inputs[i]->dtype(),
                        .dims = inputs[i]->dims()});
  }
  Bindings bindings = extract(concrete);
  for (const auto& [name, size] : known) {
    bindings.set(name, size);
  }
  constraints.check(bindings);
  return constraints.complete(bindings);
}

}  // namespace tenon::mesh
