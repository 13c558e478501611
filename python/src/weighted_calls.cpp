// Calls of programs whose weights are arguments, as torch.compile passes them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "bind.h"
#include "interrupt.h"
#include "tenon/error.h"
#include "tenon/weighted_executable.h"
#include "tensor_feed.h"
#include "watched_weights.h"

namespace tenon::python {
namespace {

/// A graph that is compiled when it is called, for the weights that it is called with.
class WeightedCall {
 public:
  /// `buffers`: inputs that may be weights though they are no parameters. `expected`: inputs that the first call takes
  /// for weights. `compiled` is called with an executable and its number of weights when there is a new one.
  WeightedCall(const Graph& graph, TensorExchange exchange, std::vector<size_t> tensors, std::vector<SizePlace> sizes,
               const std::vector<size_t>& buffers, std::vector<size_t> expected, nb::handle parameter,
               nb::object compiled)
      : program_(graph, std::move(expected)),
        feed_(std::move(exchange), std::move(tensors), std::move(sizes)),
        watched_([program = program_](uint64_t number) { program.forget(number); }),
        is_buffer_(graph.inputs().size(), false),
        parameter_(nb::borrow(parameter)),
        compiled_(std::move(compiled)) {
    for (const size_t i : buffers) {
      is_buffer_[i] = true;
    }
  }

  /// The results; None where an argument is not read in place; a string where the graph cannot be compiled, and why.
  nb::object call(nb::handle arguments, int threads, std::optional<uint64_t> key) {
    if (!refused_.empty()) {
      return nb::cast(refused_);
    }
    std::vector<TensorView> views;
    if (!feed_.read(arguments, views)) {
      return nb::none();
    }
    std::vector<uint64_t> contents = numbers_of(arguments, views);
    if (key) {
      views.push_back({.data = &*key, .dtype = u64});
    }
    contents.resize(views.size(), 0);
    std::optional<WeightedExecutable::Chosen> chosen;
    std::vector<Array> results;
    {
      const Computing computing;
      try {
        chosen = program_.choose(contents, [&](size_t input) { return weight(arguments, input); });
      } catch (const Error& error) {
        const nb::gil_scoped_acquire lock;
        refused_ = error.what();
        return nb::cast(refused_);
      }
      results = chosen->executable.run_borrowed(views, {.threads = threads, .cancel = computing.token()});
    }
    if (chosen->compiled) {
      compiled_(chosen->executable, chosen->weights);
    }
    return feed_.give(std::move(results));
  }

  /// The program for any weights. Error where the graph cannot be compiled.
  Executable general() {
    const std::vector<uint64_t> unknown(program_.graph().inputs().size(), 0);
    const WeightedExecutable::Chosen chosen = program_.choose(unknown, [](size_t) { return Array(); });
    if (chosen.compiled) {
      compiled_(chosen.executable, 0);
    }
    return chosen.executable;
  }

 private:
  std::vector<uint64_t> numbers_of(nb::handle arguments, const std::vector<TensorView>& views) {
    std::vector<uint64_t> numbers(feed_.tensors().size(), 0);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const nb::object tensor = arguments[feed_.tensors()[i]];
      if (is_buffer_[i] || reinterpret_cast<PyObject*>(Py_TYPE(tensor.ptr())) == parameter_.ptr()) {
        numbers[i] = watched_.number_of(tensor, views[i]);
      }
    }
    return numbers;
  }

  Array weight(nb::handle arguments, size_t input) const {
    const nb::gil_scoped_acquire lock;
    return array_from(nb::object(arguments[feed_.tensors()[input]]).attr("detach")());
  }

  WeightedExecutable program_;
  TensorFeed feed_;
  WatchedWeights watched_;
  std::vector<bool> is_buffer_;
  nb::object parameter_;
  nb::object compiled_;
  std::string refused_;  // why it cannot be compiled
};

}  // namespace

void bind_weighted_calls(nb::module_& m) {
  nb::class_<WeightedCall>(m, "WeightedCall", "A graph that is called with PyTorch's tensors, weights among them.")
      .def(nb::init<const Graph&, TensorExchange, std::vector<size_t>, std::vector<SizePlace>, std::vector<size_t>,
                    std::vector<size_t>, nb::handle, nb::object>(),
           nb::arg("graph"), nb::arg("exchange"), nb::arg("tensors"), nb::arg("sizes"), nb::arg("buffers"),
           nb::arg("expected"), nb::arg("parameter"), nb::arg("compiled"))
      .def("__call__", &WeightedCall::call, nb::arg("arguments"), nb::arg("threads"), nb::arg("key") = nb::none(),
           "A list of tensors in memory of their own; None, and nothing ran, where an argument is no plain tensor of "
           "the CPU; why, where the graph cannot be compiled.")
      .def("general", &WeightedCall::general, "The program for any weights.");
}

}  // namespace tenon::python
