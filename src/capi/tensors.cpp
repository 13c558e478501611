#include <limits>

#include "base/fail.h"
#include "capi/dtype.h"
#include "capi/handles.h"
#include "capi/status.h"

namespace tenon::capi {
namespace {

/// More axes than any model has: beyond it the number is none.
constexpr int32_t kMostAxes = 64;

std::string name_of(const std::vector<Port>& ports, size_t i, const char* what) {
  return i < ports.size() ? fmt::format("{} `{}`", what, ports[i].name) : fmt::format("{} {}", what, i);
}

void require_tensors(const tenon_tensor* tensors, size_t count, const std::vector<Port>& ports, const char* what) {
  if (count != ports.size()) {
    fail("the model has {} {}s, and {} tensors are given for them", ports.size(), what, count);
  }
  if (count != 0) {
    require(tensors, fmt::format("{}s", what));
  }
}

std::vector<int64_t> dims_of(const tenon_tensor& tensor, const std::string& name) {
  if (tensor.rank < 0 || tensor.rank > kMostAxes) {
    fail("{}: a tensor of rank {} is given", name, tensor.rank);
  }
  if (tensor.rank > 0 && tensor.dims == nullptr) {
    fail("{}: `dims` is NULL, and the rank is {}", name, tensor.rank);
  }
  std::vector<int64_t> dims(tensor.dims, tensor.dims + tensor.rank);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      fail("{}: the size of axis {} is {}", name, i, dims[i]);
    }
  }
  return dims;
}

/// Before sizes and bytes: these are what they are because of it.
Dtype dtype_at(const tenon_tensor& tensor, const Port& port, const std::string& name) {
  if (!is_dtype(tensor.dtype)) {
    fail("{}: there is no dtype {}", name, tensor.dtype);
  }
  const auto dtype = static_cast<Dtype>(tensor.dtype);
  if (dtype != port.shape.dtype()) {
    fail("{} is {}, and a tensor of {} is given", name, port.shape.to_string(), tenon::name(dtype));
  }
  return dtype;
}

/// The bytes that elements of these sizes take; as many as can be where there are more.
size_t byte_count(const std::vector<int64_t>& dims, Dtype dtype) {
  size_t bytes = byte_size(dtype);
  bool too_many = false;
  for (const int64_t size : dims) {
    if (size == 0) {
      return 0;
    }
    too_many |= __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes);
  }
  return too_many ? std::numeric_limits<size_t>::max() : bytes;
}

}  // namespace

std::vector<TensorView> views_of(const tenon_tensor* tensors, size_t count, const std::vector<Port>& ports,
                                 const char* what) {
  require_tensors(tensors, count, ports, what);
  std::vector<TensorView> views;
  views.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string name = name_of(ports, i, what);
    const tenon_tensor& tensor = tensors[i];
    TensorView view{
        .data = tensor.data, .dtype = dtype_at(tensor, ports[i], name), .dims = dims_of(tensor, name), .strides = {}};
    const size_t bytes = byte_count(view.dims, view.dtype);
    if (tensor.bytes < bytes) {
      fail("{}: {}[{}] takes {} bytes, and `bytes` is {}", name, tenon::name(view.dtype), fmt::join(view.dims, ", "),
           bytes, tensor.bytes);
    }
    if (tensor.data == nullptr && bytes != 0) {
      fail("{}: `data` is NULL", name);
    }
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<ConcreteInput> sizes_of(const tenon_tensor* tensors, size_t count, const std::vector<Port>& ports) {
  require_tensors(tensors, count, ports, "input");
  std::vector<ConcreteInput> sizes;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = name_of(ports, i, "input");
    sizes.push_back({.name = ports[i].name,
                     .pattern = ports[i].shape,
                     .dtype = dtype_at(tensors[i], ports[i], name),
                     .dims = dims_of(tensors[i], name)});
  }
  return sizes;
}

}  // namespace tenon::capi
