// Value and Graph: building graphs from Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>

#include "arguments.h"
#include "bind.h"
#include "ir/node.h"
#include "tenon/autodiff.h"
#include "tenon/interpreter.h"
#include "tenon/onnx.h"
#include "tenon/onnx_export.h"
#include "tenon/ops.h"
#include "tenon/text.h"

namespace tenon::python {
namespace {

/// Place, for `with` blocks that may be entered once at a time.
struct NamedPlace {
  explicit NamedPlace(std::string called) : name(std::move(called)) {}

  std::string name;
  std::unique_ptr<Place> entered;
};

nb::tuple sizes_of(const Shape& shape) {
  nb::list sizes;
  for (const Axis& axis : shape.axes()) {
    sizes.append(axis.is_anonymous() ? nb::none() : size_to_python(axis.extent()));
  }
  return nb::tuple(sizes);
}

Graph make_graph(const std::string& name, const std::vector<Value>& inputs, nb::handle outputs,
                 const std::vector<std::string>& relations) {
  std::vector<Output> list;
  const nb::object pairs =
      nb::isinstance<nb::dict>(outputs) ? nb::object(nb::borrow<nb::dict>(outputs).items()) : nb::borrow(outputs);
  for (nb::handle each : nb::borrow<nb::sequence>(pairs)) {
    const auto part = nb::cast<nb::tuple>(each);
    list.push_back({.name = nb::cast<std::string>(part[0]),
                    .value = nb::cast<Value>(part[1]),
                    .aliases = part.size() > 2 ? nb::cast<int>(part[2]) : -1});
  }
  std::vector<Constraint> constraints;
  for (const std::string& text : relations) {
    constraints.push_back(parse_constraint(text));
  }
  return {name, inputs, list, constraints};
}

}  // namespace

void bind_graphs(nb::module_& m) {
  nb::class_<Value> value(m, "Value", "A value of a graph: the result of an operation. Nothing is computed.");
  value.def_prop_ro("dtype", &Value::dtype).def_prop_ro("ndim", &Value::rank);
  value.def_prop_ro(
      "shape", [](const Value& self) { return sizes_of(self.shape()); },
      nb::sig("def shape(self) -> tuple[int | Extent, ...]"));
  value.def_prop_ro(
      "sizes", [](const Value& self) { return sizes_of(self.shape()); },
      nb::sig("def sizes(self) -> tuple[int | Extent, ...]"));
  value.def_prop_ro("type", &Value::shape, "Dtype and axes, with their names.");
  value.def_prop_ro(
      "name", [](const Value& self) { return std::string(self.name()); }, "What an input is called; else empty.");
  value.def("to", [](const Value& self, nb::handle dtype) { return cast(self, dtype_from(dtype)); }, nb::arg("dtype"));
  value.def("__repr__", [](const Value& self) { return "Value(" + self.shape().to_string() + ")"; });
  value.def("__hash__", [](const Value& self) { return static_cast<Py_ssize_t>(std::hash<Value>()(self) >> 2); });

  m.def(
      "input", [](const std::string& name, nb::handle shape) { return input(name, shape_from_python(shape)); },
      nb::arg("name"), nb::arg("shape"), nb::sig("def input(name: str, shape: Shape | str) -> Value"),
      "A parameter of a graph: `tenon.input(\"x\", \"f32[batch, 4]\")`.");
  m.def(
      "constant", [](nb::handle array) { return constant(array_from(array)); }, nb::arg("array"),
      nb::sig("def constant(array: object) -> Value"), "The elements of an array, which are shared, as a value.");
  m.def(
      "set_building", [](bool building) { return std::exchange(building_graph(), building); }, nb::arg("building"),
      "Whether operations without operands give values, not tensors; gives what it was.");
  m.def(
      "set_unify_names", [](bool unify) { return std::exchange(build_context().unify_names, unify); }, nb::arg("unify"),
      "Whether two names of axes that meet are equal, with a check when they are bound, and no error; gives what it "
      "was.");

  nb::class_<NamedPlace> place(m, "place",
                               "While entered, operations that are built or recorded are called so in pages, plans and "
                               "errors: `with tenon.place(\"encoder.0\"):`");
  place.def(nb::init<std::string>(), nb::arg("name"));
  place.def(
      "__enter__",
      [](NamedPlace& self) -> NamedPlace& {
        self.entered = std::make_unique<Place>(self.name);
        return self;
      },
      nb::rv_policy::reference);
  place.def("__exit__", [](NamedPlace& self, const nb::args&) { self.entered.reset(); });

  nb::class_<Graph> graph(m, "Graph", "A function from inputs to outputs.");
  graph.def(
      "__init__",
      [](Graph* self, const std::string& name, const std::vector<Value>& inputs, nb::handle outputs,
         const std::vector<std::string>& relations) { new (self) Graph(make_graph(name, inputs, outputs, relations)); },
      nb::arg("name"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("relations") = std::vector<std::string>(),
      nb::sig("def __init__(self, name: str, inputs: Sequence[Value], outputs: dict[str, Value] | Sequence[tuple], "
              "relations: Sequence[str] = ()) -> None"));
  graph.def_prop_ro("name", &Graph::name).def_prop_ro("inputs", &Graph::inputs);
  graph.def_prop_ro(
      "outputs",
      [](const Graph& self) {
        nb::list list;
        for (const Output& output : self.outputs()) {
          list.append(nb::make_tuple(output.name, output.value));
        }
        return list;
      },
      nb::sig("def outputs(self) -> list[tuple[str, Value]]"));
  graph.def(
      "input", [](const Graph& self, const std::string& name) { return self.input(name); }, nb::arg("name"),
      "The input of that name.");
  graph.def(
      "output", [](const Graph& self, const std::string& name) { return self.output(name); }, nb::arg("name"),
      "What the output of that name gives.");
  graph.def_prop_ro("operation_count", [](const Graph& self) { return self.nodes().size() - self.inputs().size(); });
  graph.def(
      "to_text", [](const Graph& self, int64_t most) { return to_text(self, {.max_constant_elements = most}); },
      nb::arg("max_constant_elements") = 16, "The graph as text, which parse_graph() reads.");
  graph.def("__repr__", [](const Graph& self) { return to_text(self, {.max_constant_elements = 16}); });
  graph.def("__eq__", [](const Graph& a, nb::handle b) { return nb::isinstance<Graph>(b) && a == nb::cast<Graph>(b); });
  graph.def("__hash__", [](const Graph& self) { return static_cast<Py_ssize_t>(self.hash() >> 2); });
  graph.def(
      "interpret",
      [](const Graph& self, nb::handle inputs, nb::handle sizes) {
        std::vector<Array> arrays;
        for (nb::handle each : nb::borrow<nb::sequence>(inputs)) {
          arrays.push_back(array_from(each));
        }
        return interpret(self, arrays, {.bindings = bindings_from(sizes)});
      },
      nb::arg("inputs"), nb::arg("sizes") = nb::none(), "Run it slowly, by the definition of each operation.");
  graph.def(
      "export_onnx",
      [](const Graph& self, const std::string& path, const nb::dict& weights, bool external_data) {
        OnnxExportOptions options{.external_data = external_data};
        for (const auto& [name, array] : weights) {
          options.weights.push_back({.name = nb::cast<std::string>(name), .value = array_from(array)});
        }
        export_onnx(self, path, options);
      },
      nb::arg("path"), nb::arg("weights") = nb::dict(), nb::arg("external_data") = false,
      nb::sig("def export_onnx(self, path: str, weights: dict[str, object] = {}, external_data: bool = False) -> None"),
      "As an ONNX file. `weights` are values of inputs, by name: they become initializers.");
  m.def(
      "parse_graph", [](const std::string& text) { return parse_graph(text); }, nb::arg("text"),
      "The last graph of a text.");
  m.def(
      "import_onnx", [](const std::string& path) { return import_onnx(path); }, nb::arg("path"),
      "The graph of an ONNX model, without compiling it.");
  m.def(
      "onnx_signature",
      [](const std::string& path) {
        const OnnxSignature signature = onnx_signature(path);
        nb::list inputs;
        for (const OnnxPort& port : signature.inputs) {
          inputs.append(nb::make_tuple(port.name, port.shape));
        }
        nb::list operators;
        for (const std::string& each : signature.operators) {
          operators.append(each);
        }
        return nb::make_tuple(inputs, signature.outputs, operators);
      },
      nb::arg("path"), nb::sig("def onnx_signature(path: str) -> tuple[list[tuple[str, Shape]], list[str], list[str]]"),
      "Inputs, outputs and types of operators of an ONNX model, without importing it.");
}

}  // namespace tenon::python
