#include "tensor_exchange.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "exchange_functions.h"
#include "tenon/dlpack.h"

namespace tenon::python {
namespace {

constexpr int32_t kHere = 1;  // DLPack's number of the CPU

/// What a tensor of PyTorch's has its memory from.
struct Lent {
  VersionedTensor managed;
  Array array;
  std::vector<int64_t> strides;
};

std::vector<int64_t> row_major(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<int64_t>(dims[i], 1);
  }
  return strides;
}

}  // namespace

const ExchangeFunctions* exchange_functions(nb::handle tensor) {
  const nb::object capsule = nb::getattr(tensor, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    return nullptr;
  }
  const auto* found = static_cast<const ExchangeFunctions*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (found != nullptr && found->version.major > 1) {
    found = found->previous;
  }
  const bool is_whole =
      found != nullptr && found->version.major == 1 && found->read != nullptr && found->from_managed != nullptr;
  return is_whole ? found : nullptr;
}

TensorExchange::TensorExchange(nb::handle tensor, nb::handle parameter)
    : functions_(exchange_functions(tensor)), tensor_(nb::borrow(tensor)), parameter_(nb::borrow(parameter)) {
  if (functions_ != nullptr) {
    is_negated_ = tensor.attr("is_neg");
  }
}

std::optional<TensorView> TensorExchange::read(nb::handle object) const {
  const auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()));
  if (type != tensor_.ptr() && type != parameter_.ptr()) {
    return {};
  }
  dlpack::TensorData seen;
  if (functions_->read(object.ptr(), &seen) != 0) {
    PyErr_Clear();
    return {};
  }
  const std::optional<Dtype> dtype = dtype_from_dlpack({seen.dtype.code, seen.dtype.bits, seen.dtype.lanes});
  if (seen.device.type != kHere || !dtype || is_negated_(object).is(nb::handle(Py_True))) {
    return {};
  }
  TensorView view{.data = static_cast<std::byte*>(seen.data) + seen.byte_offset,
                  .dtype = *dtype,
                  .dims = {seen.shape, seen.shape + seen.ndim},
                  .strides = {seen.strides, seen.strides + seen.ndim}};
  const bool is_empty = std::ranges::find(view.dims, 0) != view.dims.end();
  return seen.data == nullptr && !is_empty ? std::nullopt : std::optional(std::move(view));
}

nb::object TensorExchange::make(Array array) const {
  auto lent = std::make_unique<Lent>();
  array.mutable_data();  // a copy where others have the memory, as whoever gets the tensor may write it
  lent->array = std::move(array);
  lent->strides = row_major(lent->array.dims());
  dlpack::TensorData& tensor = lent->managed.tensor;
  tensor.data = lent->array.storage().address;
  tensor.device = {.type = kHere, .id = 0};
  tensor.ndim = lent->array.rank();
  const nb::dlpack::dtype dtype = dlpack_dtype(lent->array.dtype());
  tensor.dtype = {.code = dtype.code, .bits = dtype.bits, .lanes = dtype.lanes};
  tensor.shape = const_cast<int64_t*>(lent->array.dims().data());
  tensor.strides = lent->strides.data();
  lent->managed.context = lent.get();
  lent->managed.deleter = [](VersionedTensor* self) { delete static_cast<Lent*>(self->context); };
  void* made = nullptr;
  if (functions_->from_managed(&lent->managed, &made) != 0) {
    throw nb::python_error();
  }
  lent.release();  // NOLINT(bugprone-unused-return-value): the tensor's now
  return nb::steal(static_cast<PyObject*>(made));
}

}  // namespace tenon::python
