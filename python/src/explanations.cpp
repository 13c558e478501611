// What lazy tensors ran, explained.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "bind.h"
#include "interrupt.h"
#include "tenon/explain.h"
#include "tensor/record/symbols.h"
#include "tensor/record/user_lines.h"

namespace tenon::python {
namespace {

/// Explaining, for `with` blocks that may be entered once.
struct Switch {
  std::unique_ptr<Explaining> on;
};

thread_local std::string module_path;

/// "layer4.1.conv2 at train.py:12": the module of PyTorch that is being called, and the user's line.
std::string recording_line() {
  const auto [file, line] = LazyCall::place();
  const std::string at =
      file.empty() ? "" : fmt::format("{}:{}", std::string_view(file).substr(file.find_last_of('/') + 1), line);
  return module_path.empty() ? at : at.empty() ? module_path : module_path + " at " + at;
}

tensors::UserLine calling_line() {
  auto [file, line] = LazyCall::place();
  return {.file = std::move(file), .line = line};
}

}  // namespace

void bind_explanations(nb::module_& m) {
  tensors::set_line_source(&recording_line);
  tensors::set_user_line_source(&calling_line);
  m.def(
      "set_module_path", [](std::string path) { module_path = std::move(path); }, nb::arg("path"),
      "The module whose forward() records on this thread from now on; \"\" for none.");

  nb::class_<Switch> explaining(m, "Explaining",
                                "While entered, operations keep the lines that record them, and runs are timed.");
  explaining.def(nb::init<>());
  explaining.def(
      "__enter__",
      [](Switch& self) -> Switch& {
        self.on = std::make_unique<Explaining>();
        return self;
      },
      nb::rv_policy::reference);
  explaining.def("__exit__", [](Switch& self, const nb::args&) { self.on.reset(); });

  nb::class_<Explanation> one(m, "RunExplanation",
                              "Programs that ran for lazy tensors, who asked for them and why they were compiled.");
  one.def("__str__", &Explanation::text).def("__repr__", &Explanation::text);
  one.def("text", &Explanation::text, "What `tenon explain` prints of each program.");
  one.def("json", &Explanation::json, "The same as data: `realizations` and `programs`.");
  one.def("html", &Explanation::html, nb::arg("title") = "lazy tensors", "A page that needs no network.");
  one.def(
      "save", [](const Explanation& self, nb::handle path) { self.save(nb::cast<std::string>(nb::str(path))); },
      nb::arg("path"), "Write the page into a file.");
  one.def(
      "with_graph",
      [](const Explanation& self, const Graph& graph, const std::string& reason, const std::string& place,
         const std::vector<nb::object>& inputs) {
        std::vector<Array> arrays;
        for (const nb::object& each : inputs) {
          arrays.push_back(array_from(each));
        }
        return self.with_graph(graph, reason, place, arrays);
      },
      nb::arg("graph"), nb::arg("reason"), nb::arg("place"), nb::arg("inputs") = std::vector<nb::object>(),
      "The same, and a program that no lazy tensor asked for, with times where it is given inputs.");
  m.def("explain_realizations", &explain_realizations, nb::arg("most") = 64,
        "What ran last for lazy tensors; with lines and times where it ran inside of `tenon.explaining()`.");
  m.def(
      "explain_tensors",
      [](const std::vector<Tensor>& tensors) {
        const LazyCall place;
        return explain(tensors, std::source_location());
      },
      nb::arg("tensors"), "Compute these and explain how.");
}

}  // namespace tenon::python
