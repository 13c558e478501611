// Compiling and running: Executable, models from files, traces.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "bind.h"
#include "interrupt.h"
#include "tenon/compile.h"
#include "tenon/load.h"
#include "tenon/models.h"

namespace tenon::python {
namespace {

std::vector<Array> arrays_from(nb::handle list) {
  std::vector<Array> arrays;
  for (nb::handle each : nb::borrow<nb::sequence>(list)) {
    arrays.push_back(array_from(each));
  }
  return arrays;
}

RunOptions run_options(std::optional<int> threads, nb::handle sizes, Trace* trace) {
  return {.threads = threads.value_or(default_threads()), .bindings = bindings_from(sizes), .trace = trace};
}

/// Results that lie in an input's memory, or in another result's, get their own: NumPy may write any of them.
void separate(std::vector<Array>& results, const std::vector<Array>& inputs) {
  std::vector<const std::byte*> taken;
  for (const Array& input : inputs) {
    taken.push_back(input.data());
  }
  for (Array& result : results) {
    const bool shares = std::ranges::any_of(inputs, [&](const Array& input) {
      return result.data() >= input.data() && result.data() < input.data() + input.byte_count();
    });
    if (shares || std::ranges::find(taken, result.data()) != taken.end()) {
      const Array before = result;
      result = Array::uninitialized(before.dtype(), before.dims());
      std::memcpy(result.mutable_data(), before.data(), before.byte_count());
    }
    taken.push_back(result.data());
  }
}

std::vector<Array> run(const Executable& self, nb::handle inputs, std::optional<int> threads, nb::handle sizes,
                       Trace* trace) {
  RunOptions options = run_options(threads, sizes, trace);
  std::vector<Array> arrays = arrays_from(inputs);
  const Computing computing;
  options.cancel = computing.token();
  std::vector<Array> results = self.run(arrays, options);
  separate(results, arrays);
  return results;
}

nb::list ports(const std::vector<Port>& list) {
  nb::list result;
  for (const Port& port : list) {
    result.append(nb::make_tuple(port.name, port.shape));
  }
  return result;
}

nb::dict step_of(const StepReport& step) {
  nb::dict result;
  result["kind"] = std::string(name(step.kind));
  result["label"] = step.label;
  result["boundary"] = step.boundary;
  result["bytes_read"] = size_to_python(step.bytes_read);
  result["bytes_written"] = size_to_python(step.bytes_written);
  result["flops"] = size_to_python(step.flops);
  return result;
}

nb::dict counters_of(const Executable& self) {
  const RunCounters counters = self.counters();
  nb::dict result;
  result["runs"] = counters.runs;
  result["specializations"] = counters.specializations;
  result["memory_bytes"] = counters.memory_bytes;
  result["peak_memory_bytes"] = counters.peak_memory_bytes;
  result["compile_ms"] = counters.compile_ms;
  result["run_ms"] = counters.run_ms;
  return result;
}

void bind_executable(nb::module_& m) {
  nb::class_<Executable> executable(m, "Executable", "A compiled graph: runs at every size of its named axes.");
  executable.def("run", &run, nb::arg("inputs"), nb::kw_only(), nb::arg("threads") = nb::none(),
                 nb::arg("sizes") = nb::none(), nb::arg("trace") = nb::none(),
                 nb::sig("def run(self, inputs: Sequence[object], *, threads: int | None = None, sizes: dict[str, int] "
                         "| str | None = None, trace: Trace | None = None) -> list[Array]"),
                 "Results in the order of outputs. Inputs are not copied where they are row-major.");
  executable.def_prop_ro("name", &Executable::name);
  executable.def_prop_ro(
      "inputs", [](const Executable& self) { return ports(self.inputs()); },
      nb::sig("def inputs(self) -> list[tuple[str, Shape]]"));
  executable.def_prop_ro(
      "outputs", [](const Executable& self) { return ports(self.outputs()); },
      nb::sig("def outputs(self) -> list[tuple[str, Shape]]"));
  executable.def_prop_ro("kernel_count", &Executable::kernel_count).def_prop_ro("copy_count", &Executable::copy_count);
  executable.def_prop_ro(
      "steps",
      [](const Executable& self) {
        nb::list steps;
        for (const StepReport& step : self.steps()) {
          steps.append(step_of(step));
        }
        return steps;
      },
      nb::sig("def steps(self) -> list[dict]"));
  executable.def_prop_ro("counters", &counters_of, nb::sig("def counters(self) -> dict"));
  executable.def("explain_text", &Executable::explain, "The steps as text: operators, bytes, why each ends.");
  executable.def(
      "specialize",
      [](const Executable& self, nb::handle sizes) {
        const Bindings bindings = bindings_from(sizes);
        const nb::gil_scoped_release release;
        self.specialize(bindings);
      },
      nb::arg("sizes"), nb::sig("def specialize(self, sizes: dict[str, int] | str) -> None"),
      "Prepare these sizes, so that the first run at them takes what later ones take.");
  executable.def(
      "output_shapes",
      [](const Executable& self, nb::handle sizes) { return self.output_shapes(bindings_from(sizes)); },
      nb::arg("sizes"), nb::sig("def output_shapes(self, sizes: dict[str, int] | str) -> list[Shape]"));
  executable.def(
      "memory",
      [](const Executable& self, nb::handle sizes) {
        const MemoryReport report = self.memory(bindings_from(sizes));
        nb::dict result;
        result["arena_bytes"] = report.arena_bytes;
        result["intermediate_bytes"] = report.intermediate_bytes;
        result["output_bytes"] = report.output_bytes;
        return result;
      },
      nb::arg("sizes"), nb::sig("def memory(self, sizes: dict[str, int] | str) -> dict"), "What a run takes.");

  m.def(
      "compile_graph",
      [](const Graph& graph, bool fuse, bool native, bool disk_cache, std::optional<Dtype> weights,
         const std::map<std::string, std::vector<std::string>>& sizes_from) {
        CompileOptions options{.fuse = fuse, .native = native, .disk_cache = disk_cache};
        options.weights = weights;
        options.sizes_from = sizes_from;
        const nb::gil_scoped_release release;
        return compile(graph, options);
      },
      nb::arg("graph"), nb::kw_only(), nb::arg("fuse") = true, nb::arg("native") = true, nb::arg("disk_cache") = true,
      nb::arg("weights") = nb::none(), nb::arg("sizes_from") = std::map<std::string, std::vector<std::string>>(),
      "Compile once, for every size.");
}

void bind_loaded(nb::module_& m) {
  nb::class_<LoadedModel> model(m, "LoadedModel", "A model from a file, compiled for all sizes of its named axes.");
  model.def(
      "run_named",
      [](const LoadedModel& self, const nb::dict& inputs, std::optional<int> threads, nb::handle sizes, Trace* trace) {
        RunOptions options = run_options(threads, sizes, trace);
        LoadedModel::Arrays arrays;
        for (const auto& [name, array] : inputs) {
          arrays.emplace(nb::cast<std::string>(name), array_from(array));
        }
        const Computing computing;
        options.cancel = computing.token();
        LoadedModel::Arrays results = self.run(arrays, options);
        std::vector<Array> given;
        for (const auto& [name, array] : arrays) {
          given.push_back(array);
        }
        for (auto& [name, array] : results) {
          std::vector<Array> one{array};
          separate(one, given);
          array = one.front();
        }
        return results;
      },
      nb::arg("inputs"), nb::arg("threads") = nb::none(), nb::arg("sizes") = nb::none(), nb::arg("trace") = nb::none());
  model.def_prop_ro(
      "inputs",
      [](const LoadedModel& self) {
        nb::list result;
        for (const OnnxPort& port : self.inputs()) {
          result.append(nb::make_tuple(port.name, port.shape));
        }
        return result;
      },
      nb::sig("def inputs(self) -> list[tuple[str, Shape]]"));
  model.def_prop_ro("output_names", &LoadedModel::output_names);
  model.def_prop_ro("compile_count", &LoadedModel::compile_count);
  model.def_prop_ro("executable", &LoadedModel::executable);
  m.def(
      "load_onnx",
      [](const std::string& path, bool fuse, bool disk_cache, std::optional<Dtype> weights) {
        const nb::gil_scoped_release release;
        LoadOptions options{.onnx = {}, .compile = {.fuse = fuse, .disk_cache = disk_cache}};
        options.compile.weights = weights;
        return load(path, options);
      },
      nb::arg("path"), nb::arg("fuse") = true, nb::arg("disk_cache") = true, nb::arg("weights") = nb::none());
}

}  // namespace

void bind_executables(nb::module_& m) {
  nb::class_<Trace> trace(m, "Trace", "Collects what runs did and when.");
  trace.def(nb::init<>());
  trace.def("to_json", &Trace::to_json, "For Perfetto's and Chrome's viewers.");
  trace.def("__len__", [](const Trace& self) { return self.events().size(); });
  bind_executable(m);
  bind_loaded(m);
  m.def("default_threads", [] { return default_threads(); });
  m.def(
      "set_default_threads",
      [](int threads) {
        if (threads < 0) {
          throw nb::value_error("a number of threads is 0, for all, or more");
        }
        default_threads() = threads;
      },
      nb::arg("threads"));
}

void bind_models(nb::module_& m) {
  m.def(
      "model_names",
      [] {
        nb::list names;
        for (const ModelEntry& entry : model_table()) {
          names.append(std::string(entry.name));
        }
        return names;
      },
      "The built-in models.");
  m.def(
      "builtin_model", [](const std::string& name) { return with_weights(find_model(name).build()); }, nb::arg("name"),
      "The graph of a built-in model with its first weights.");
}

}  // namespace tenon::python
