// Calls of compiled programs with PyTorch's tensors: one call of C++ from the arguments to the results.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bind.h"
#include "interrupt.h"
#include "tenon/executable.h"
#include "tensor_feed.h"

namespace tenon::python {

TensorFeed::TensorFeed(TensorExchange exchange, std::vector<size_t> tensors, std::vector<SizePlace> sizes)
    : exchange_(std::move(exchange)), tensors_(std::move(tensors)), sizes_(std::move(sizes)) {}

bool TensorFeed::read(nb::handle arguments, std::vector<TensorView>& views) const {
  if (!exchange_.valid()) {
    return false;
  }
  views.reserve(tensors_.size() + sizes_.size() + 1);
  for (const size_t i : tensors_) {
    std::optional<TensorView> view = exchange_.read(arguments[i]);
    if (!view) {
      return false;
    }
    views.push_back(*std::move(view));
  }
  for (const auto& [argument, axis] : sizes_) {
    const nb::object given = arguments[argument];
    const nb::object size = axis ? nb::object(given.attr("shape")[*axis]) : given;
    int64_t count = 0;
    if (!nb::try_cast(size, count) || count < 0) {
      return false;
    }
    views.push_back({.data = nullptr, .dtype = u8, .dims = {count, 0}});
  }
  return true;
}

nb::list TensorFeed::give(std::vector<Array> results) const {
  nb::list given;
  for (Array& result : results) {
    given.append(exchange_.make(std::move(result)));
  }
  return given;
}

namespace {

/// An executable, and how it is fed; the last input may be the key of random numbers.
class TensorCall {
 public:
  TensorCall(Executable executable, TensorExchange exchange, std::vector<size_t> tensors, std::vector<SizePlace> sizes)
      : executable_(std::move(executable)), feed_(std::move(exchange), std::move(tensors), std::move(sizes)) {}

  /// The results as tensors in memory of their own; None where an argument is not read in place, and nothing ran.
  nb::object call(nb::handle arguments, int threads, std::optional<uint64_t> key) const {
    std::vector<TensorView> views;
    if (!feed_.read(arguments, views)) {
      return nb::none();
    }
    if (key) {
      views.push_back({.data = &*key, .dtype = u64});
    }
    std::vector<Array> results;
    {
      const Computing computing;
      results = executable_.run_borrowed(views, {.threads = threads, .cancel = computing.token()});
    }
    return feed_.give(std::move(results));
  }

 private:
  Executable executable_;
  TensorFeed feed_;
};

}  // namespace

void bind_tensor_calls(nb::module_& m) {
  nb::class_<TensorExchange>(m, "TensorExchange", "PyTorch's tensors, read in place and made of arrays.")
      .def(nb::init<nb::handle, nb::handle>(), nb::arg("tensor"), nb::arg("parameter"));
  nb::class_<TensorCall>(m, "TensorCall", "An executable that takes and gives PyTorch's tensors.")
      .def(nb::init<Executable, TensorExchange, std::vector<size_t>, std::vector<SizePlace>>(), nb::arg("executable"),
           nb::arg("exchange"), nb::arg("tensors"), nb::arg("sizes"))
      .def("__call__", &TensorCall::call, nb::arg("arguments"), nb::arg("threads"), nb::arg("key") = nb::none(),
           "A list of tensors in memory of their own; None, and nothing ran, where an argument is no plain tensor of "
           "the CPU.");
}

}  // namespace tenon::python
