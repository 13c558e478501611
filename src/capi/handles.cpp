#include "capi/handles.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/fail.h"

namespace tenon::capi {
namespace {

std::vector<std::string> texts_of(const std::vector<Port>& ports) {
  std::vector<std::string> texts;
  std::ranges::transform(ports, std::back_inserter(texts), [](const Port& port) { return port.shape.to_string(); });
  return texts;
}

/// In the order in which they first occur.
std::vector<std::string> axes_of(const std::vector<Port>& inputs) {
  std::vector<std::string> axes;
  std::set<std::string> seen;
  for (const Port& port : inputs) {
    for (const Axis& axis : port.shape.axes()) {
      for (const std::string& name : axis.extent().names()) {
        if (seen.insert(name).second) axes.push_back(name);
      }
    }
  }
  return axes;
}

}  // namespace

Bindings bindings_of(const tenon_options* options) {
  Bindings bindings;
  if (options != nullptr) {
    for (const auto& [name, size] : options->sizes) {
      bindings.set(name, size);
    }
  }
  return bindings;
}

RunOptions run_options_of(const tenon_options* options) {
  if (options == nullptr) {
    return {};
  }
  return {.threads = options->threads,
          .bindings = bindings_of(options),
          .cancel = &options->cancel,
          .flush_denormals = options->flush_denormals};
}

const Port& port_at(const std::vector<Port>& ports, size_t i, const char* what) {
  if (i >= ports.size()) {
    fail("there is no {} {}: the model has {} of them, counted from 0", what, i, ports.size());
  }
  return ports[i];
}

}  // namespace tenon::capi

tenon_model::tenon_model(tenon::Executable program)
    : executable(std::move(program)),
      input_shapes(tenon::capi::texts_of(executable.inputs())),
      output_shapes(tenon::capi::texts_of(executable.outputs())),
      axes(tenon::capi::axes_of(executable.inputs())) {}
