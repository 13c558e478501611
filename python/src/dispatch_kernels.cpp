// Kernels that PyTorch's dispatcher calls without Python: one function for each operator, which PyTorch calls with its
// arguments alone.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "bind.h"
#include "dispatch_calls.h"
#include "dispatch_functions.h"

namespace tenon::python {
namespace {

constexpr size_t kMostEntries = 2048;

/// An operator whose kernel is called without Python.
struct Entry {
  OperatorSchema schema;
  nb::object function;  // what would be called by the Python key
  std::shared_ptr<DeviceKernel> kernel;

  void run(StableValue* stack) {
    DispatchCall call(schema, stack);
    CallSignature key;
    if (kernel->enter(call, key)) {
      return;
    }
    const auto [args, kwargs] = call.for_python();
    kernel->forget();
    call.give(kernel->call(args, kwargs));
    if (!key.empty()) {
      kernel->learn(std::move(key));
    }
  }
};

std::vector<std::unique_ptr<Entry>>& entries() {
  static auto& all = *new std::vector<std::unique_ptr<Entry>>;
  return all;
}

void run_entry(size_t index, StableValue* stack) {
  const nb::gil_scoped_acquire lock;
  const bool is_done = pending_where_it_fails([&] {
    entries()[index]->run(stack);
    return true;
  });
  if (!is_done) {
    throw_pending_error();
  }
}

template <size_t index>
void run_numbered(StableValue* stack, uint64_t, uint64_t) {
  run_entry(index, stack);
}

template <size_t... index>
constexpr std::array<DispatchFunctions::Kernel, sizeof...(index)> numbered(std::index_sequence<index...>) {
  return {run_numbered<index>...};
}
constexpr std::array<DispatchFunctions::Kernel, kMostEntries> kNumbered =
    numbered(std::make_index_sequence<kMostEntries>());

using Arguments = std::vector<std::tuple<std::string, std::string, bool, bool, nb::object>>;

/// False where there is no room, or no kernel of ours.
bool set_kernel(const nb::object& function, const std::string& name, const Arguments& arguments,
                std::vector<std::string> results) {
  static void* library = nullptr;
  const DispatchFunctions* const f = dispatch_functions();
  std::shared_ptr<DeviceKernel> kernel = registered_kernel(function);
  if (f == nullptr || kernel == nullptr || entries().size() == kMostEntries) {
    return false;
  }
  if (library == nullptr && f->open_library("aten", "PrivateUse1", "tenon", 0, &library) != 0) {
    return false;
  }
  auto entry = std::make_unique<Entry>();
  for (const auto& [argument, type, is_named, has_standard, standard] : arguments) {
    entry->schema.arguments.push_back(
        {.name = argument, .type = type, .is_named = is_named, .standard = has_standard ? standard : nb::object()});
  }
  entry->schema.results = std::move(results);
  entry->function = function;
  entry->kernel = std::move(kernel);
  entries().push_back(std::move(entry));
  if (f->set_kernel(library, name.c_str(), kNumbered[entries().size() - 1], kDispatchVersion) != 0) {
    entries().pop_back();
    return false;
  }
  return true;
}

}  // namespace

void bind_dispatch_kernels(nb::module_& m) {
  m.def(
      "find_dispatch_functions",
      [](const std::string& folder, nb::dict dtypes, nb::dict layouts, nb::dict formats, nb::object device,
         nb::object handle_of, nb::object small_number, nb::object small_integer) {
        python_arguments() = {.dtypes = std::move(dtypes),
                              .layouts = std::move(layouts),
                              .formats = std::move(formats),
                              .device = std::move(device),
                              .handle_of = std::move(handle_of),
                              .small_number = std::move(small_number),
                              .small_integer = std::move(small_integer)};
        return find_dispatch_functions(folder) != nullptr;
      },
      nb::arg("folder"), nb::arg("dtypes"), nb::arg("layouts"), nb::arg("formats"), nb::arg("device"),
      nb::arg("handle_of"), nb::arg("small_number"), nb::arg("small_integer"),
      "Whether PyTorch's libraries in a folder, which are loaded, have the functions that kernels without Python need. "
      "The others are what such kernels hand arguments to Python by.");
  m.def("set_kernel", &set_kernel, nb::arg("function"), nb::arg("name"), nb::arg("arguments"), nb::arg("results"),
        "Let PyTorch call the kernel of a function for an operator on the device, without Python where it was called "
        "like that before. Arguments are names, types, whether they are named, and standard values. False where it "
        "cannot be.");
}

}  // namespace tenon::python
