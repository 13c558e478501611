// Programs in files: built, loaded, looked at.
#include "programs.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bind.h"
#include "build/metadata_keys.h"
#include "interrupt.h"
#include "tenon/build_program.h"
#include "tenon/mesh_program.h"
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

/// Where ranks of a mesh are to run it.
struct MeshWords {
  std::string axes;
  MeshOptions options;
};

void save(const Graph& graph, const CompileOptions& compile, nb::handle path, const SaveWords& words,
          const std::optional<MeshWords>& mesh = {}) {
  const std::string file = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(path));
  BuildOptions options = build_options(compile, words);
  const Bindings sizes = bindings_from(words.sizes);
  const Computing computing;
  options.progress = [&](const BuildProgress&) {
    if (computing.token()->is_cancelled()) throw Cancelled();
  };
  const Graph known = with_sizes(graph, sizes);
  mesh ? build_mesh_program(known, mesh->axes, file, mesh->options, options) : build_program(known, file, options);
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
      "build_mesh_program",
      [](const Graph& graph, nb::handle path, const std::string& axes, const std::optional<std::string>& shard,
         const nb::dict& values, bool fuse, nb::handle machines, nb::handle sizes, bool reasons, nb::handle metadata) {
        MeshWords mesh{.axes = axes, .options = {.shard = shard, .typical = bindings_from(sizes)}};
        for (const auto& [name, value] : values) {
          mesh.options.values.emplace(nb::cast<std::string>(name), array_from(value));
        }
        save(graph, {.fuse = fuse}, path, {machines, sizes, reasons, metadata}, mesh);
      },
      nb::arg("graph"), nb::arg("path"), nb::arg("axes"), nb::arg("shard").none(), nb::arg("values"), nb::arg("fuse"),
      nb::arg("machines"), nb::arg("sizes").none(), nb::arg("reasons"), nb::arg("metadata").none(),
      "Compile a graph into a file for all ranks of a mesh.");
  m.def(
      "load_mesh_program",
      [](const std::string& path, const Mesh& mesh, int threads, bool verify) {
        const nb::gil_scoped_release release;
        return load_mesh_program(path, mesh, {.verify = verify, .threads = threads});
      },
      nb::arg("path"), nb::arg("mesh"), nb::kw_only(), nb::arg("threads") = 0, nb::arg("verify") = true,
      "This rank's program of a file that was built for a mesh; all ranks call it together.");
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
