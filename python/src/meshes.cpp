// Programs in parts on several processes: Mesh and MeshExecutable.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "interrupt.h"
#include "tenon/mesh.h"
#include "tenon/onnx.h"

namespace tenon::python {
namespace {

std::vector<Array> arrays_from(nb::handle list) {
  std::vector<Array> arrays;
  for (const nb::handle each : nb::borrow<nb::sequence>(list)) {
    arrays.push_back(array_from(each));
  }
  return arrays;
}

/// Pairs of a name and a shape.
nb::list ports(const std::vector<Port>& list) {
  nb::list result;
  for (const Port& port : list) {
    result.append(nb::make_tuple(port.name, port.shape));
  }
  return result;
}

nb::list collectives_of(const MeshExecutable& self) {
  nb::list result;
  for (const CollectiveReport& each : self.collectives()) {
    nb::dict one;
    one["kind"] = each.kind;
    one["over"] = each.over;
    one["of"] = each.of;
    one["reason"] = each.reason;
    one["bytes"] = size_to_python(each.bytes);
    result.append(one);
  }
  return result;
}

MeshExecutable compile_on_mesh(const Graph& graph, const Mesh& mesh, const std::optional<std::string>& shard,
                               nb::handle values, nb::handle sizes, bool whole_outputs, int threads, bool fuse,
                               bool disk_cache) {
  MeshOptions options{.shard = shard,
                      .typical = bindings_from(sizes),
                      .whole_outputs = whole_outputs,
                      .threads = threads,
                      .compile = {.fuse = fuse, .disk_cache = disk_cache}};
  if (!values.is_none()) {
    for (const auto& [name, value] : nb::borrow<nb::dict>(values)) {
      options.values.emplace(nb::cast<std::string>(name), array_from(value));
    }
  }
  const nb::gil_scoped_release release;
  return compile(graph, mesh, options);
}

void bind_mesh(nb::module_& m) {
  nb::class_<Mesh> mesh(m, "Mesh", "Ranks with named axes, as this one of them sees them: see `tenon.mesh`.");
  mesh.def(nb::init<std::string_view>(), nb::arg("axes"));
  mesh.def(nb::init<std::string_view, int>(), nb::arg("axes"), nb::arg("communicator"));
  mesh.def_prop_ro("rank", &Mesh::rank).def_prop_ro("size", &Mesh::size).def_prop_ro("axes", &Mesh::axes);
  mesh.def("position", &Mesh::position, nb::arg("axis"), "Where this rank is along the axis, counted from 0.");
  mesh.def("set_patience", &Mesh::set_patience, nb::arg("seconds"),
           "A rank that waits longer for the others raises an Error.");
  mesh.def(
      "abort", [](const Mesh& self, int status) { self.abort(status); }, nb::arg("status") = 1,
      "End all ranks now, for one that cannot go on.");
  mesh.def("__repr__",
           [](const Mesh& self) { return "Mesh(" + self.axes() + ", rank " + std::to_string(self.rank()) + ")"; });
  m.def(
      "run_mesh_as_threads",
      [](const std::string& axes, const nb::callable& body) {
        const nb::gil_scoped_release release;
        Mesh::run_as_threads(axes, [&](const Mesh& own) {
          const nb::gil_scoped_acquire acquire;
          body(own);
        });
      },
      nb::arg("axes"), nb::arg("body"));
}

void bind_mesh_executable(nb::module_& m) {
  nb::class_<MeshExecutable> executable(m, "MeshExecutable",
                                        "A graph compiled for one rank of a mesh. All ranks run it together.");
  const auto run = [](nb::handle inputs, const auto& call) {
    const std::vector<Array> arrays = arrays_from(inputs);
    std::vector<Array> results;
    {
      const nb::gil_scoped_release release;
      results = call(arrays);
    }
    separate(results, arrays);
    return results;
  };
  executable.def(
      "run",
      [run](const MeshExecutable& self, nb::handle inputs, nb::handle sizes) {
        const Bindings known = bindings_from(sizes);
        return run(inputs, [&](const std::vector<Array>& arrays) { return self.run(arrays, known); });
      },
      nb::arg("inputs"), nb::kw_only(), nb::arg("sizes") = nb::none(),
      nb::sig("def run(self, inputs: Sequence[object], *, sizes: dict[str, int] | str | None = None) -> list[Array]"),
      "Results in the order of outputs, whole on every rank, of inputs that are whole and the same on every rank.");
  executable.def(
      "run_parts",
      [run](const MeshExecutable& self, nb::handle parts, nb::handle sizes) {
        const Bindings bindings = bindings_from(sizes);
        return run(parts, [&](const std::vector<Array>& arrays) { return self.run_parts(arrays, bindings); });
      },
      nb::arg("parts"), nb::arg("sizes"),
      nb::sig("def run_parts(self, parts: Sequence[object], sizes: dict[str, int] | str) -> list[Array]"),
      "The same with this rank's part of each input. `sizes` are those of the whole.");
  executable.def(
      "part",
      [](const MeshExecutable& self, size_t input, nb::handle whole, nb::handle sizes) {
        return self.part(input, array_from(whole), bindings_from(sizes));
      },
      nb::arg("input"), nb::arg("whole"), nb::arg("sizes") = nb::none(),
      nb::sig("def part(self, input: int, whole: object, sizes: dict[str, int] | str | None = None) -> Array"),
      "This rank's part of an input.");
  executable.def_prop_ro("mesh", &MeshExecutable::mesh).def_prop_ro("shard", &MeshExecutable::shard);
  executable.def_prop_ro(
      "inputs", [](const MeshExecutable& self) { return ports(self.inputs()); },
      nb::sig("def inputs(self) -> list[tuple[str, Shape]]"));
  executable.def_prop_ro(
      "outputs", [](const MeshExecutable& self) { return ports(self.outputs()); },
      nb::sig("def outputs(self) -> list[tuple[str, Shape]]"));
  executable.def_prop_ro("collectives", &collectives_of, nb::sig("def collectives(self) -> list[dict]"));
  executable.def_prop_ro("sent_bytes", &MeshExecutable::sent_bytes);
  m.def(
      "compile_on_mesh", &compile_on_mesh, nb::arg("graph"), nb::arg("mesh"), nb::kw_only(),
      nb::arg("shard") = nb::none(), nb::arg("values") = nb::none(), nb::arg("sizes") = nb::none(),
      nb::arg("whole_outputs") = true, nb::arg("threads") = 0, nb::arg("fuse") = true, nb::arg("disk_cache") = true,
      nb::sig("def compile_on_mesh(graph: Graph, mesh: Mesh, *, shard: str | None = None, values: dict[str, object] | "
              "None = None, sizes: dict[str, int] | str | None = None, whole_outputs: bool = True, threads: int = 0, "
              "fuse: bool = True, disk_cache: bool = True) -> MeshExecutable"),
      "The graph in parts, one for each rank; all ranks call it together.");
}

}  // namespace

void bind_meshes(nb::module_& m) {
  bind_mesh(m);
  bind_mesh_executable(m);
  m.def(
      "import_onnx_with_weights",
      [](const std::string& path) {
        std::vector<OnnxWeight> weights;
        Graph graph = import_onnx(path, {.weights = &weights, .weights_unread = true});
        nb::dict values;
        for (const OnnxWeight& weight : weights) {
          values[weight.name.c_str()] = weight.value;
        }
        return nb::make_tuple(std::move(graph), values);
      },
      nb::arg("path"), nb::sig("def import_onnx_with_weights(path: str) -> tuple[Graph, dict[str, Array]]"),
      "The graph of an ONNX model with its weights as its last inputs, and those weights.");
}

}  // namespace tenon::python
