// Array: elements in memory, shared with NumPy, PyTorch and whoever speaks DLPack.
#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "cuda_interface.h"
#include "tenon/strided_array.h"

namespace tenon::python {
namespace {

using AnyArray = nb::ndarray<nb::ro>;

/// Whether the elements of `object` are in memory that arrays may have; `exported` is them, then.
bool try_export(nb::handle object, AnyArray& exported) {
  nb::ndarray<nb::ro, nb::device::cpu> here;
  nb::ndarray<nb::ro, nb::device::cuda> there;
  if (nb::try_cast(object, here)) {
    exported = AnyArray(here);
  } else if (nb::try_cast(object, there)) {
    exported = AnyArray(there);
  }
  return exported.is_valid();
}

MemoryPlace place_of(const AnyArray& exported) {
  return exported.device_type() == nb::device::cpu::value
             ? MemoryPlace()
             : MemoryPlace{.kind = DeviceKind::gpu, .index = exported.device_id()};
}

/// DLPack's type and number of a device.
std::pair<int32_t, int32_t> device_of(const MemoryPlace& place) {
  return {place.kind == DeviceKind::cpu ? nb::device::cpu::value : nb::device::cuda::value, place.index};
}

/// The exported memory as an array; it is given back when the last one that shares it goes, on whatever thread.
Array adopt(AnyArray exported, Dtype dtype) {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  int64_t reach = 1;
  bool empty = false;
  for (size_t i = 0; i < exported.ndim(); ++i) {
    dims.push_back(static_cast<int64_t>(exported.shape(i)));
    strides.push_back(exported.stride(i));
    empty |= dims.back() == 0;
    reach += (dims.back() - 1) * strides.back();
  }
  reach = empty ? 0 : reach;
  const MemoryPlace place = place_of(exported);
  const bool is_here = place.kind == DeviceKind::cpu;
  if (empty && is_here) {
    return {dtype, dims};
  }
  for (size_t i = 0; i < dims.size() && !empty; ++i) {
    if (strides[i] < 0 && !is_here) {
      throw nb::type_error(fmt::format("an array on {} is read with strides of 0 or more", to_string(place)).c_str());
    }
    if (strides[i] < 0) {  // memory before the first element: NumPy brings it in order
      const nb::object ordered = nb::module_::import_("numpy").attr("ascontiguousarray")(nb::cast(exported));
      return array_from(ordered);
    }
  }
  if (is_here && reinterpret_cast<uintptr_t>(exported.data()) % byte_size(dtype) != 0) {
    return array_from(nb::module_::import_("numpy").attr("copy")(nb::cast(exported)));
  }
  auto* const data = static_cast<std::byte*>(const_cast<void*>(exported.data()));
  std::shared_ptr<void> owner = keep_python(data, std::move(exported));
  Storage storage{.place = place,
                  .address = data,
                  .bytes = reach * static_cast<int64_t>(byte_size(dtype)),
                  .owner = std::move(owner)};
  const StridedArray strided{
      .base = Array::adopt(dtype, {reach}, std::move(storage)), .dims = dims, .strides = strides};
  return strided.contiguous();
}

/// What others share can be read through NumPy, not written: arrays are values.
nb::object numpy_of(const Array& array, nb::handle owner) {
  if (array.dtype() == bf16) {
    throw nb::type_error("NumPy has no bf16: x.to(tenon.f32).numpy(), or torch.from_dlpack(x)");
  }
  std::vector<size_t> dims(array.dims().begin(), array.dims().end());
  auto* const data = const_cast<std::byte*>(array.data());
  const nb::dlpack::dtype dtype = dlpack_dtype(array.dtype());
  if (array.is_shared()) {
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, dims.size(), dims.data(), owner, nullptr, dtype));
  }
  return nb::cast(nb::ndarray<nb::numpy>(data, dims.size(), dims.data(), owner, nullptr, dtype));
}

/// A capsule of DLPack's, whose taker may write: of memory that nobody else has.
nb::object dlpack_of(nb::handle self) {
  Array& array = nb::cast<Array&>(self);
  nb::object owner = nb::borrow(self);
  if (array.is_shared()) {
    Array own = array;
    own.mutable_data();
    owner = nb::cast(std::move(own));
  }
  const Array& elements = nb::cast<const Array&>(owner);
  std::vector<size_t> dims(elements.dims().begin(), elements.dims().end());
  const auto [type, number] = device_of(elements.place());
  const nb::ndarray<> shared(elements.storage().address, dims.size(), dims.data(), owner, nullptr,
                             dlpack_dtype(elements.dtype()), type, number);
  return nb::cast(shared);
}

}  // namespace

std::optional<Dtype> dtype_from_dlpack(const nb::dlpack::dtype& type) {
  using Code = nb::dlpack::dtype_code;
  if (type.lanes != 1) {
    return {};
  }
  const int log2_bytes = type.bits == 8 ? 0 : type.bits == 16 ? 1 : type.bits == 32 ? 2 : type.bits == 64 ? 3 : -1;
  if (log2_bytes < 0) {
    return {};
  }
  switch (static_cast<Code>(type.code)) {
    case Code::Int: return static_cast<Dtype>(static_cast<int>(i8) + log2_bytes);
    case Code::UInt: return static_cast<Dtype>(static_cast<int>(u8) + log2_bytes);
    case Code::Float:
      return type.bits == 16   ? std::optional(f16)
             : type.bits == 32 ? f32
             : type.bits == 64 ? std::optional(f64)
                               : std::nullopt;
    case Code::Bfloat: return type.bits == 16 ? std::optional(bf16) : std::nullopt;
    case Code::Bool: return type.bits == 8 ? std::optional(boolean) : std::nullopt;
    default: return {};
  }
}

nb::dlpack::dtype dlpack_dtype(Dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  const Code code = dtype == boolean           ? Code::Bool
                    : dtype == bf16            ? Code::Bfloat
                    : is_float(dtype)          ? Code::Float
                    : is_signed_integer(dtype) ? Code::Int
                                               : Code::UInt;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(byte_size(dtype) * 8), 1};
}

Array array_from(nb::handle object) {
  if (nb::isinstance<Array>(object)) {
    return nb::cast<Array>(object);
  }
  if (nb::isinstance<Tensor>(object)) {
    return nb::cast<Tensor>(object).to_array();
  }
  if (nb::hasattr(object, "is_neg") && nb::cast<bool>(object.attr("is_neg")())) {  // DLPack would give the opposite
    return array_from(object.attr("detach")().attr("resolve_neg")());
  }
  AnyArray exported;
  if (!try_export(object, exported)) {
    if (std::optional<Array> there = from_cuda_interface(object)) {
      return *std::move(there);
    }
    nb::object plain;
    if (nb::hasattr(object, "detach")) {  // a PyTorch tensor that wants gradients, or that is a view of another kind
      plain = object.attr("detach")().attr("resolve_conj")().attr("resolve_neg")();
    } else {
      plain = nb::module_::import_("numpy").attr("asarray")(object);
    }
    if (!try_export(plain, exported)) {
      throw nb::type_error(fmt::format("{} is no array that Tenon can read: NumPy, PyTorch on the CPU, anything with "
                                       "__dlpack__, or nested lists of numbers are",
                                       nb::cast<std::string>(nb::str(object.type())))
                               .c_str());
    }
  }
  const auto dtype = dtype_from_dlpack(exported.dtype());
  if (!dtype) {
    throw nb::type_error(fmt::format("an array of this element type cannot be read: code {}, {} bits",
                                     static_cast<int>(exported.dtype().code), static_cast<int>(exported.dtype().bits))
                             .c_str());
  }
  return adopt(std::move(exported), *dtype);
}

void bind_arrays(nb::module_& m) {
  nb::class_<Array> array(m, "Array", "Elements in memory. NumPy and PyTorch see them without a copy.");
  array.def(
      "__init__", [](Array* self, nb::handle object) { new (self) Array(array_from(object)); }, nb::arg("object"));
  array.def_prop_ro("dtype", &Array::dtype);
  array.def_prop_ro(
      "shape", [](const Array& self) { return nb::tuple(nb::cast(self.dims())); },
      nb::sig("def shape(self) -> tuple[int, ...]"));
  array.def_prop_ro("size", &Array::size).def_prop_ro("ndim", &Array::rank);
  array.def("to", [](const Array& self, nb::handle dtype) { return self.cast(dtype_from(dtype)); }, nb::arg("dtype"));
  array.def(
      "numpy", [](nb::handle self) { return numpy_of(nb::cast<const Array&>(self), self); },
      "The elements as a NumPy array, which shares them.");
  array.def(
      "__array__",
      [](nb::handle self, nb::handle dtype, nb::handle copy) {
        nb::object seen = numpy_of(nb::cast<const Array&>(self), self);
        const bool cast = !dtype.is_none() && !seen.attr("dtype").equal(dtype);
        if (cast) {
          return nb::object(seen.attr("astype")(dtype));
        }
        return copy.is_none() || !nb::cast<bool>(copy) ? seen : nb::object(seen.attr("copy")());
      },
      nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none());
  array.def("__dlpack__", [](nb::handle self, const nb::kwargs&) { return dlpack_of(self); });
  array.def("__dlpack_device__", [](const Array& self) {
    const auto [type, number] = device_of(self.place());
    return nb::make_tuple(type, number);
  });
  array.def_prop_ro("__cuda_array_interface__", &cuda_interface_of,
                    "What Numba, CuPy and others read elements in a GPU's memory by.");
  array.def("__repr__", [](const Array& self) { return self.to_string(64); });
  array.def("__len__", [](const Array& self) {
    if (self.rank() == 0) {
      throw nb::type_error("an array without axes has no length");
    }
    return self.dims()[0];
  });
}

}  // namespace tenon::python
