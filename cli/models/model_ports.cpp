#include "cli/models/model_ports.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/fail.h"
#include "build/index_limits.h"
#include "ir/data_axes.h"
#include "ir/node.h"
#include "shape/extent_names.h"
#include "text/suggest.h"

namespace tenon::cli {
namespace {

/// With what is typical and what follows.
Bindings completed(const ModelPorts& ports, const Bindings& given) {
  Bindings bindings = ports.constraints.complete(given);
  for (const auto& [name, size] : ports.typical) {
    if (!bindings.find(name)) {
      bindings.set(name, size);
    }
  }
  return ports.constraints.complete(bindings);
}

}  // namespace

Bindings without(const Bindings& bindings, const std::vector<std::string>& names) {
  Bindings rest;
  for (const auto& [name, size] : bindings) {
    if (std::ranges::find(names, name) == names.end()) {
      rest.set(name, size);
    }
  }
  return rest;
}

ModelPorts ports_of(const GraphModel& model) {
  const Graph& graph = model.graph;
  const AxisNames late = data_axes(graph);
  const std::vector<std::optional<Extent>> limits = index_limits(graph);
  ModelPorts ports{.inputs = {},
                   .axes = axis_names(graph),
                   .constraints = late.empty() ? graph.constraints() : graph.constraints().without(late),
                   .typical = model.typical,
                   .decided = model.decided,
                   .values = model.values};
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& input = graph.inputs()[i];
    ports.inputs.push_back({.name = input.node().as<Input>()->name, .shape = input.shape(), .limit = limits[i]});
  }
  return ports;
}

ModelPorts ports_of(const ProgramFileInfo& program) {
  ModelPorts ports{.inputs = {}, .axes = program.axes, .constraints = {}, .typical = program.usual};
  for (const Constraint& each : program.constraints) {
    ports.constraints.add(each);
  }
  for (const ProgramFileInput& input : program.inputs) {
    ports.inputs.push_back({.name = input.name,
                            .shape = input.shape,
                            .limit = input.limits.empty() ? std::nullopt : std::optional(input.limits.front())});
  }
  return ports;
}

void check_names(const Bindings& bindings, const std::vector<std::string>& axes, std::string_view option) {
  for (const auto& [name, size] : bindings) {
    if (std::ranges::find(axes, name) == axes.end()) {
      fail("`{} {}={}`: the model has no axis of this name{}\n  {}", option, algebra::quoted_name(name), size,
           text::suggestion(name, axes),
           axes.empty() ? "all of its sizes are known" : fmt::format("its axes: {}", fmt::join(axes, ", ")));
    }
  }
}

void require_bound(const ModelPorts& ports, const Bindings& given, const std::vector<std::string>& more) {
  std::vector<std::string> names = ports.axes;
  names.insert(names.end(), more.begin(), more.end());
  const Bindings bindings = completed(ports, given);
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!bindings.find(name)) {
      missing.push_back(algebra::quoted_name(name) + "=1");
    }
  }
  if (!missing.empty()) {
    fail("the sizes of some axes are not known; give them, for example: --bind {}",
         shell_word(fmt::format("{}", fmt::join(missing, ","))));
  }
}

Bindings complete_bindings(const ModelPorts& ports, const Bindings& given) {
  check_names(given, ports.axes);
  require_bound(ports, given);
  return completed(ports, given);
}

GivenSizes split_sizes(const Bindings& all, const ModelPorts& model, const Executable& executable) {
  std::vector<std::string> late;
  for (const SegmentReport& segment : executable.segments()) {
    std::ranges::transform(segment.binds, std::back_inserter(late), [](const auto& bound) { return bound.first; });
  }
  GivenSizes given;
  for (const auto& [name, size] : all) {
    if (std::ranges::find(model.decided, name) != model.decided.end()) {
      continue;  // the value of an input, which is part of the graph
    }
    (std::ranges::find(late, name) != late.end() ? given.late : given.early).set(name, size);
  }
  std::erase_if(late, [&](const std::string& name) { return given.late.find(name).has_value(); });
  check_names(given.early, model.axes);
  require_bound(model, given.early, late);
  return given;
}

}  // namespace tenon::cli
