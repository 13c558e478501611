// Arrays in a GPU's memory by __cuda_array_interface__ (version 3), which Numba, CuPy and others speak.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "bind.h"

namespace tenon::python {

/// `held`, for as long as somebody has the pointer, on whatever thread it goes.
template <class T>
std::shared_ptr<void> keep_python(std::byte* data, T held) {
  auto* const kept = new T(std::move(held));
  return {data, [kept](void*) {
            if (Py_IsInitialized() != 0) {
              const nb::gil_scoped_acquire gil;
              delete kept;
            }
          }};
}

/// The dictionary of an array there, whose elements nobody writes any more. AttributeError: it is on the CPU, or its
/// type has no name there.
nb::dict cuda_interface_of(nb::handle array);

/// The elements of an object that has the interface; none where it has not. TypeError: of a type, with strides or a
/// mask that arrays have not, or on a stream other than the two default ones.
std::optional<Array> from_cuda_interface(nb::handle object);

}  // namespace tenon::python
