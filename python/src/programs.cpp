// Programs in files: built, loaded, looked at.
#include "programs.h"

#include <nanobind/stl/string.h>

#include "bind.h"
#include "build/metadata_keys.h"
#include "interrupt.h"
#include "tenon/build_program.h"
#include "tenon/program_file.h"

namespace tenon::python {
namespace {

/// What saving takes beside what is saved and where, as Python gives it.
struct SaveWords {
  nb::handle machines;  // a name, or several
  nb::handle sizes;
  bool reasons = true;
  nb::handle metadata;  // a dict, or None
};

BuildOptions build_options(const CompileOptions& compile, const SaveWords& words) {
  BuildOptions options{.compile = compile, .reasons = words.reasons};
  if (nb::isinstance<nb::str>(words.machines)) {
    options.machines.push_back(machine_named(nb::cast<std::string>(words.machines)));
  } else {
    for (const nb::handle name : nb::borrow<nb::sequence>(words.machines)) {
      options.machines.push_back(machine_named(nb::cast<std::string>(name)));
    }
  }
  if (!words.metadata.is_none()) {
    for (const auto& [key, value] : nb::borrow<nb::dict>(words.metadata)) {
      std::string name = nb::cast<std::string>(nb::str(key));
      require_own_key(name);
      options.metadata.emplace(std::move(name), nb::cast<std::string>(nb::str(value)));
    }
  }
  return options;
}

void save(const Graph& graph, const CompileOptions& compile, nb::handle path, const SaveWords& words) {
  const std::string file = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(path));
  BuildOptions options = build_options(compile, words);
  const Bindings sizes = bindings_from(words.sizes);
  const Computing computing;
  options.progress = [&](const BuildProgress&) {
    if (computing.token()->is_cancelled()) throw Cancelled();
  };
  build_program(with_sizes(graph, sizes), file, options);
}

nb::dict describe(const ProgramFileInfo& info) {
  nb::dict result;
  result["name"] = info.name;
  result["tenon_version"] = info.tenon_version;
  result["bytes"] = info.bytes;
  nb::dict metadata;
  for (const auto& [key, value] : info.metadata) {
    metadata[key.c_str()] = value;
  }
  result["metadata"] = metadata;
  nb::list machines;
  for (const ProgramFileMachine& each : info.machines) {
    machines.append(nb::make_tuple(each.machine.name, each.code, each.runs_here));
  }
  result["machines"] = machines;
  return result;
}

}  // namespace

void bind_programs(nb::module_& m) {
  nb::class_<CompiledGraph, Executable> compiled(m, "CompiledGraph", "An Executable that can be saved.");
  compiled.def(
      "save",
      [](const CompiledGraph& self, nb::handle path, nb::handle machines, nb::handle sizes, bool reasons,
         nb::handle metadata) {
        if (!self.graph) {
          throw Error(
              "this was compiled with keep_graph=False, and a file is made of the graph: use tenon.save(graph, path)");
        }
        save(*self.graph, self.options, path, {machines, sizes, reasons, metadata});
      },
      nb::arg("path"), nb::kw_only(), nb::arg("machines") = nb::make_tuple(), nb::arg("sizes") = nb::none(),
      nb::arg("reasons") = true, nb::arg("metadata") = nb::none(),
      nb::sig(
          "def save(self, path: object, *, machines: str | Sequence[str] = (), sizes: dict[str, int] | str | None = "
          "None, reasons: bool = True, metadata: dict[str, str] | None = None) -> None"),
      "Build what was compiled into a file, with the options that it was compiled with: see `tenon.save`.");
  m.def(
      "build_program",
      [](const Graph& graph, nb::handle path, nb::handle weights, bool fuse, nb::handle machines, nb::handle sizes,
         bool reasons, nb::handle metadata) {
        CompileOptions options{.fuse = fuse};
        options.weights = weights_from(weights);
        save(graph, options, path, {machines, sizes, reasons, metadata});
      },
      nb::arg("graph"), nb::arg("path"), nb::arg("weights").none(), nb::arg("fuse"), nb::arg("machines"),
      nb::arg("sizes").none(), nb::arg("reasons"), nb::arg("metadata").none(), "Compile a graph into a file.");
  m.def(
      "load_program",
      [](const std::string& path, bool verify) {
        const nb::gil_scoped_release release;
        return load_program(path, {.verify = verify});
      },
      nb::arg("path"), nb::arg("verify") = true, "The program of a file.");
  m.def("is_program_file", &is_program_file, nb::arg("path"));
  m.def(
      "program_info", [](const std::string& path) { return describe(inspect_program(path, {.verify = false})); },
      nb::arg("path"), nb::sig("def program_info(path: str) -> dict"), "What a file says of itself.");
}

}  // namespace tenon::python
