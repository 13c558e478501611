// Why did it run: what lazy tensors computed.
#include "tenon/realizations.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>

#include "bind.h"

namespace tenon::python {

void bind_realizations(nb::module_& m) {
  nb::class_<Realization> one(m, "Realization", "One program that was run for lazy tensors.");
  one.def_ro("reason", &Realization::reason).def_ro("place", &Realization::place);
  one.def_ro("tensors", &Realization::tensors).def_ro("writes", &Realization::writes);
  one.def_ro("operations", &Realization::operations).def_ro("kernels", &Realization::kernels);
  one.def_ro("compiled", &Realization::compiled).def_ro("compile_ms", &Realization::compile_ms);
  one.def_ro("weights", &Realization::weights).def_ro("laid_out", &Realization::laid_out);
  one.def_ro("why", &Realization::why);
  one.def_ro("milliseconds", &Realization::milliseconds);
  m.def("realizations", &realizations, "The last programs that ran for lazy tensors, oldest first.");
  m.def("realizations_text", &realizations_text, "The same as a table.");
  m.def(
      "realization_counts",
      [] {
        const RealizationCounts counts = realization_counts();
        nb::dict result;
        result["runs"] = counts.runs;
        result["compiles"] = counts.compiles;
        result["kernels"] = counts.kernels;
        result["recompiles"] = counts.recompiles;
        result["laid_out"] = counts.laid_out;
        return result;
      },
      "Runs, compiles, kernels, compiles that a program at the same line was there for, and programs with weights laid "
      "out, since the start or clear_realizations().");
  m.def("clear_realizations", &clear_realizations);
  m.def("recorded_graph", &recorded_graph, nb::arg("tensors"), "The program that realize(tensors) would run.");
  m.def("log_kernels", &log_kernels, nb::arg("level"),
        "What is written to standard error as tensors run: 0 nothing, 1 programs, 2 kernels, 3 graphs.");
  m.def("log_recompiles", &log_recompiles, nb::arg("on") = true,
        "Whether each program that is compiled again is written to standard error, with what differs from the last one "
        "at the same line.");
  m.def(
      "watch_realizations",
      [](nb::object began) {
        // Never destroyed: a span may end after the interpreter has.
        const auto* const call = new nb::object(std::move(began));
        watch_realizations([call](const std::string& text) -> std::shared_ptr<void> {
          if (Py_IsInitialized() == 0) {
            return nullptr;
          }
          const nb::gil_scoped_acquire lock;
          nb::object span = (*call)(text);
          if (span.is_none()) {
            return nullptr;
          }
          return {span.release().ptr(), [](PyObject* held) {
                    const nb::gil_scoped_acquire again;
                    nb::steal(held).attr("__exit__")(nb::none(), nb::none(), nb::none());
                  }};
        });
      },
      nb::arg("began"),
      "began(text) is called where something is computed, on its thread; it gives None, or a context that has been "
      "entered, which is left at the end.");
  m.def("clear_programs", &clear_programs);
  m.def("set_weight_budget", &set_weight_budget, nb::arg("bytes"),
        "The most bytes that weights take as constants of programs, because they have stayed the same; 0: they stay "
        "inputs.");
  m.def("set_program_limit", &set_program_limit, nb::arg("programs"));
}

}  // namespace tenon::python
