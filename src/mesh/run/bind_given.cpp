#include "mesh/run/bind_given.h"

#include "shape/constraint_set.h"

namespace tenon::mesh {

Bindings bind_given(const Graph& graph, std::span<const Array* const> inputs, const Bindings& known) {
  std::vector<ConcreteInput> concrete;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    concrete.push_back({.name = std::string(graph.inputs()[i].name()),
                        .pattern = graph.inputs()[i].shape(),
                        .dtype = inputs[i]->dtype(),
                        .dims = inputs[i]->dims()});
  }
  Bindings bindings = extract(concrete);
  for (const auto& [name, size] : known) {
    bindings.set(name, size);
  }
  graph.constraints().check(bindings);
  return graph.constraints().complete(bindings);
}

}  // namespace tenon::mesh
