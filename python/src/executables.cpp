// Compiling and running: Executable, models from files, traces.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "bind.h"
#include "interrupt.h"
#include "programs.h"
#include "tenon/compile.h"
#include "tenon/donate.h"
#include "tenon/gpu.h"
#include "tenon/load.h"
#include "tenon/models.h"
#include "tenon/size_counts.h"

namespace tenon::python {
namespace {

RunOptions run_options(std::optional<int> threads, nb::handle sizes, Trace* trace) {
  return {.threads = threads.value_or(default_threads()), .bindings = bindings_from(sizes), .trace = trace};
}

/// An array that a run may write, where the object lets others write to its memory and nobody else holds it.
Array donated_from(nb::handle object) {
  Array array = array_from(object);
  if (nb::isinstance<Array>(object)) {
    const Array& held = nb::cast<const Array&>(object);
    array = Array();
    if (held.is_shared()) {
      return held;
    }
    // Under a count of its own: the object, which gets the result, is all that holds it.
    auto* const data = const_cast<std::byte*>(held.data());
    return Array::adopt(held.dtype(), held.dims(), {data, [](std::byte*) {}});
  }
  const bool may_write = !nb::hasattr(object, "flags") || nb::cast<bool>(object.attr("flags").attr("writeable"));
  if (!may_write || nb::isinstance<Tensor>(object)) {
    Array own = array;
    own.mutable_data();  // a copy, as two hold it
    return own;
  }
  return array;
}

/// A result that lies where an input lay that was donated is that input's object: whoever holds it has the new state.
class Donated {
 public:
  /// `array` was made of the object, and is left out where it is a copy.
  void add(nb::handle object, const Array& array) {
    const bool is_array = nb::isinstance<Array>(object);
    nb::ndarray<nb::ro> exported;
    const void* const own = is_array                         ? nb::cast<const Array&>(object).data()
                            : nb::try_cast(object, exported) ? exported.data()
                                                             : nullptr;
    if (own != nullptr && own == array.data() && array.byte_count() > 0) {
      objects_.emplace_back(array.data(), nb::borrow(object));
    }
  }

  nb::object result(Array array) const {
    const auto found = std::ranges::find(objects_, array.data(), &Entry::first);
    return found == objects_.end() ? nb::cast(std::move(array)) : found->second;
  }

 private:
  using Entry = std::pair<const std::byte*, nb::object>;
  std::vector<Entry> objects_;
};

nb::list run(const Executable& self, nb::handle inputs, std::optional<int> threads, nb::handle sizes, Trace* trace,
             bool donate) {
  RunOptions options = run_options(threads, sizes, trace);
  Donated donated;
  std::vector<Array> arrays;
  for (nb::handle each : nb::borrow<nb::sequence>(inputs)) {
    arrays.push_back(donate ? donated_from(each) : array_from(each));
    if (donate) {
      donated.add(each, arrays.back());
    }
  }
  std::vector<Array> results;
  {
    const Computing computing;
    options.cancel = computing.token();
    if (donate) {
      results = self.run(std::move(arrays), options);
      separate(results, {});
    } else {
      results = self.run(arrays, options);
      separate(results, arrays);
    }
  }
  nb::list given;
  for (Array& each : results) {
    given.append(donated.result(std::move(each)));
  }
  return given;
}

std::vector<Donation> donations(const std::map<std::string, std::string>& pairs) {
  std::vector<Donation> result;
  for (const auto& [input, output] : pairs) {
    result.push_back({.input = input, .output = output});
  }
  return result;
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

/// What executable.sizes gives: a dict for each binding, the most used first.
nb::list size_counts_of(const Executable& self) {
  nb::list all;
  for (const SizeCount& size : size_counts(self).sizes) {
    nb::dict sizes;
    for (const auto& [name, value] : size.bindings) {
      sizes[name.c_str()] = value;
    }
    nb::dict one;
    one["sizes"] = sizes;
    one["segment"] = size.segment;
    one["hits"] = size.hits;
    one["specializations"] = size.specializations;
    one["evictions"] = size.evictions;
    one["bytes"] = size.bytes;
    one["specialize_ms"] = size.specialize_ms;
    all.append(one);
  }
  return all;
}

nb::dict counters_of(const Executable& self) {
  const RunCounters counters = self.counters();
  nb::dict result;
  result["runs"] = counters.runs;
  result["specializations"] = counters.specializations;
  result["hits"] = counters.hits;
  result["evictions"] = counters.evictions;
  result["cached_bytes"] = counters.cached_bytes;
  result["idle_bytes"] = counters.idle_bytes;
  result["memory_bytes"] = counters.memory_bytes;
  result["peak_memory_bytes"] = counters.peak_memory_bytes;
  result["compile_ms"] = counters.compile_ms;
  result["specialize_ms"] = counters.specialize_ms;
  result["waiting_ms"] = counters.waiting_ms;
  result["run_ms"] = counters.run_ms;
  return result;
}

Precision precision_of(const std::string& word) {
  const auto precision = parse_precision(word);
  if (!precision) {
    throw Error("precision=\"" + word + "\" is none of f32, tf32, bf16 and f16");
  }
  return *precision;
}

void bind_executable(nb::module_& m) {
  nb::class_<Executable> executable(m, "Executable", "A compiled graph: runs at every size of its named axes.");
  executable.def("run", &run, nb::arg("inputs"), nb::kw_only(), nb::arg("threads") = nb::none(),
                 nb::arg("sizes") = nb::none(), nb::arg("trace") = nb::none(), nb::arg("donate") = false,
                 nb::sig("def run(self, inputs: Sequence[object], *, threads: int | None = None, sizes: dict[str, int] "
                         "| str | None = None, trace: Trace | None = None, donate: bool = False) -> list[Array]"),
                 "Results in the order of outputs. Inputs are not copied where they are row-major. With `donate`, an "
                 "input that an output takes over is written in place: the result is the array that was given.");
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
  executable.def_prop_ro("size_counts", &size_counts_of, nb::sig("def size_counts(self) -> list[dict]"));
  executable.def(
      "metrics_text", [](const Executable& self) { return metrics_text(self); },
      "All counters as text that Prometheus reads, for a server to answer `/metrics` with.");
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
      "donate_graph",
      [](const Graph& graph, const std::map<std::string, std::string>& pairs, bool found) {
        std::vector<Donation> all = donations(pairs);
        for (const Donation& pair : found ? find_donations(graph) : std::vector<Donation>()) {
          all.push_back(pair);
        }
        return donate(graph, all);
      },
      nb::arg("graph"), nb::arg("pairs"), nb::arg("found") = false,
      "The same function, in which outputs take over the memory of inputs.");
  m.def(
      "compile_graph",
      [](const Graph& graph, bool fuse, bool native, bool disk_cache, nb::handle weights,
         const std::map<std::string, std::vector<std::string>>& sizes_from, const std::string& device,
         const std::string& precision, bool keep_graph) {
        CompileOptions options{
            .fuse = fuse, .native = native, .disk_cache = disk_cache, .machine = machine_of_device(device)};
        options.weights = weights_from(weights);
        options.precision = precision_of(precision);
        options.sizes_from = sizes_from;
        const nb::gil_scoped_release release;
        return CompiledGraph(compile(graph, options), keep_graph ? std::optional(graph) : std::nullopt, options);
      },
      nb::arg("graph"), nb::kw_only(), nb::arg("fuse") = true, nb::arg("native") = true, nb::arg("disk_cache") = true,
      nb::arg("weights") = nb::none(), nb::arg("sizes_from") = std::map<std::string, std::vector<std::string>>(),
      nb::arg("device") = "cpu", nb::arg("precision") = "f32", nb::arg("keep_graph") = true,
      "Compile once, for every size.");
}

void bind_loaded(nb::module_& m) {
  nb::class_<LoadedModel> model(m, "LoadedModel", "A model from a file, compiled for all sizes of its named axes.");
  model.def(
      "run_named",
      [](const LoadedModel& self, const nb::dict& inputs, std::optional<int> threads, nb::handle sizes, Trace* trace,
         bool donate) {
        RunOptions options = run_options(threads, sizes, trace);
        Donated donated;
        LoadedModel::Arrays arrays;
        std::vector<Array> given;
        for (const auto& [name, object] : inputs) {
          Array array = donate ? donated_from(object) : array_from(object);
          if (donate) {
            donated.add(object, array);
          } else {
            given.push_back(array);
          }
          arrays.emplace(nb::cast<std::string>(name), std::move(array));
        }
        std::vector<std::string> names;
        std::vector<Array> results;
        {
          const Computing computing;
          options.cancel = computing.token();
          for (auto& [name, array] : donate ? self.run(std::move(arrays), options) : self.run(arrays, options)) {
            names.push_back(name);
            results.push_back(array);
          }
          separate(results, given);
        }
        nb::dict by_name;
        for (size_t i = 0; i < results.size(); ++i) {
          by_name[names[i].c_str()] = donated.result(std::move(results[i]));
        }
        return by_name;
      },
      nb::arg("inputs"), nb::arg("threads") = nb::none(), nb::arg("sizes") = nb::none(), nb::arg("trace") = nb::none(),
      nb::arg("donate") = false);
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
  model.def_prop_ro("assumptions", [](const LoadedModel& self) {
    std::vector<std::string> lines;
    for (const OnnxAssumption& each : self.assumptions()) {
      lines.push_back(each.relation.to_string() + ": " + each.reason);
    }
    return lines;
  });
  model.def_prop_ro("executable", &LoadedModel::executable);
  m.def(
      "load_onnx",
      [](const std::string& path, bool fuse, bool disk_cache, nb::handle weights,
         const std::map<std::string, std::string>& donate, bool donate_found, const std::string& device,
         const std::string& precision) {
        LoadOptions options{.onnx = {},
                            .compile = {.fuse = fuse, .disk_cache = disk_cache, .machine = machine_of_device(device)}};
        options.compile.weights = weights_from(weights);
        options.compile.precision = precision_of(precision);
        const nb::gil_scoped_release release;
        options.donate = donations(donate);
        options.donate_found = donate_found;
        return load(path, options);
      },
      nb::arg("path"), nb::arg("fuse") = true, nb::arg("disk_cache") = true, nb::arg("weights") = nb::none(),
      nb::arg("donate") = std::map<std::string, std::string>(), nb::arg("donate_found") = false,
      nb::arg("device") = "cpu", nb::arg("precision") = "f32");
}

}  // namespace

void separate(std::vector<Array>& results, const std::vector<Array>& inputs) {
  const auto is_here = [](const Array& array) { return array.place().kind == DeviceKind::cpu; };
  std::vector<const std::byte*> taken;
  for (const Array& input : inputs) {
    if (is_here(input)) taken.push_back(input.data());
  }
  for (Array& result : results) {
    if (!is_here(result)) continue;  // NumPy cannot write there
    const bool shares = std::ranges::any_of(inputs, [&](const Array& input) {
      return is_here(input) && result.data() >= input.data() && result.data() < input.data() + input.byte_count();
    });
    if (shares || std::ranges::find(taken, result.data()) != taken.end()) {
      const Array before = result;
      result = Array::uninitialized(before.dtype(), before.dims());
      std::memcpy(result.mutable_data(), before.data(), before.byte_count());
    }
    taken.push_back(result.data());
  }
}

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
