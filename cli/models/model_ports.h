// What a model takes, as the command line speaks of it: of a graph, or of a program that was built before.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/models/load_graph.h"
#include "shape/constraint_set.h"
#include "tenon/program_file.h"

namespace tenon::cli {

/// An input, and the number that its integers stay below where they are positions of something.
struct ModelInput {
  std::string name;
  Shape shape;
  std::optional<Extent> limit = {};
};

struct ModelPorts {
  std::vector<ModelInput> inputs;
  std::vector<std::string> axes;  // names that bindings may have
  ConstraintSet constraints;      // on them
  Bindings typical;
  std::vector<std::string> decided = {};                  // as of GraphModel
  std::map<std::string, Array, std::less<>> values = {};  // likewise
};

ModelPorts ports_of(const GraphModel& model);
ModelPorts ports_of(const ProgramFileInfo& program);

/// All but these: such as values of inputs that an import took already.
Bindings without(const Bindings& bindings, const std::vector<std::string>& names);

/// Error: a name that the model does not have, which `option` gave; it lists those that there are.
void check_names(const Bindings& bindings, const std::vector<std::string>& axes, std::string_view option = "--bind");

/// Error: names of axes, or `more`, that get no size from `given`, from what is typical or from constraints; it shows
/// what could be written.
void require_bound(const ModelPorts& ports, const Bindings& given, const std::vector<std::string>& more = {});

/// `given`, and for the rest of the names what is typical and what constraints imply.
/// Error: a name that the model does not have; one that stays unbound.
Bindings complete_bindings(const ModelPorts& ports, const Bindings& given);

/// Sizes that inputs have, and those of axes that data decide, for which figures may be asked.
struct GivenSizes {
  Bindings early, late;
};
/// Error: all names that are not given, of both.
GivenSizes split_sizes(const Bindings& all, const ModelPorts& model, const Executable& executable);

}  // namespace tenon::cli
