// What the files of the Python module share: one function for each file that adds its part, and conversions.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/graph.h"
#include "tenon/precision.h"
#include "tenon/tensor.h"

namespace nanobind::dlpack {
struct dtype;
}

namespace tenon::python {

namespace nb = nanobind;

void bind_shapes(nb::module_& m);
void bind_arrays(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_executables(nb::module_& m);
void bind_tensor_calls(nb::module_& m);
void bind_weighted_calls(nb::module_& m);
void bind_programs(nb::module_& m);
void bind_meshes(nb::module_& m);
void bind_models(nb::module_& m);
void bind_tensors(nb::module_& m);
void bind_device_storages(nb::module_& m);
void bind_device_guard(nb::module_& m);
void bind_device_kernels(nb::module_& m);
void bind_device_replays(nb::module_& m);
void bind_device_views(nb::module_& m);
void bind_device_fills(nb::module_& m);
void bind_dispatch_kernels(nb::module_& m);
void bind_realizations(nb::module_& m);
void bind_explanations(nb::module_& m);
void bind_modules(nb::module_& m);
void bind_optimizers(nb::module_& m);

/// Classes that get a method for each row of the scalar table and each builder.
struct OperandClasses {
  nb::handle tensor;
  nb::handle value;
};
/// The functions of `ops`, the methods, and the operators.
void bind_operations(nb::module_& m, const OperandClasses& classes);

/// A constant is a Python int, anything else an Extent.
nb::object size_to_python(const Extent& extent);
/// From an int, an Extent, or a text such as "batch" or "2*seq+1".
Extent extent_from(nb::handle object);
/// From the same, or None: anonymous.
Axis axis_from(nb::handle object);
std::vector<Axis> axes_from(nb::handle list);
Dtype dtype_from(nb::handle object);
/// CompileOptions::weights: a dtype, the name of a format, or None.
std::optional<WeightFormat> weights_from(nb::handle object);
/// A Shape, a text such as "f32[batch, 4]".
Shape shape_from_python(nb::handle object);
Bindings bindings_from(nb::handle object);

/// The memory of an object that exports it (NumPy, DLPack, the buffer protocol, an Array), not copied where it is
/// row-major and aligned; numbers and nested lists of them by way of NumPy.
Array array_from(nb::handle object);
/// Results that lie in an input's memory, or in another result's, get their own: NumPy may write any of them.
void separate(std::vector<Array>& results, const std::vector<Array>& inputs);
/// How DLPack names a dtype, and back: nothing where Tenon has no such dtype.
nb::dlpack::dtype dlpack_dtype(Dtype dtype);
std::optional<Dtype> dtype_from_dlpack(const nb::dlpack::dtype& type);

}  // namespace tenon::python
