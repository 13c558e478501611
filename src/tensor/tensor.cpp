#include "tenon/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "base/fail.h"
#include "base/refused.h"
#include "tenon/autograd.h"
#include "tenon/indexing.h"
#include "tenon/ops.h"
#include "tenon/realizations.h"
#include "tensor/realize/realize.h"
#include "tensor/record/leaf.h"
#include "tensor/record/record.h"
#include "tensor/record/symbols.h"

namespace tenon {

using namespace tensors;

namespace {

/// The value of a builder over this tensor, as a tensor of its own.
Tensor recorded(std::initializer_list<Tensor> operands, const std::function<Value(Sizes)>& build) {
  const std::vector<Tensor> list(operands);
  return record(list, [&](Sizes sizes) -> std::vector<Value> { return {build(sizes)}; }).front();
}

/// Axes that name sizes of tensors, or new ones: names of symbols stay what they are.
std::vector<Axis> known_axes(const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) {
    if (axis.is_anonymous() || !size_of(axis.extent())) {
      fail("a new tensor needs sizes; axis `{}` has none", axis.to_string());
    }
  }
  return axes;
}

}  // namespace

Tensor tensor(Array array, const std::vector<Axis>& axes, std::source_location where) {
  const Shape shape = axes.empty() && array.rank() > 0 ? shape_from(array, where) : named_shape(array, axes);
  const Value leaf = make_leaf(std::move(array), shape);
  return new_tensor(leaf, false, 0);
}

Tensor tensor(std::initializer_list<double> values, Dtype dtype, std::source_location where) {
  const std::vector<double> list(values);
  return tensor(Array::from<double>({static_cast<int64_t>(list.size())}, list).cast(dtype), {}, where);
}

Tensor Tensor::zeros(const std::vector<Axis>& axes, Dtype dtype) { return full(Shape(dtype, known_axes(axes)), 0); }
Tensor Tensor::ones(const std::vector<Axis>& axes, Dtype dtype) { return full(Shape(dtype, known_axes(axes)), 1); }
Tensor Tensor::number(double value, Dtype dtype) { return tensor(Array::scalar(dtype, value)); }

Shape Tensor::shape() const { return Access::handle(*this).value().shape(); }
Dtype Tensor::dtype() const { return Access::handle(*this).value().dtype(); }
int Tensor::rank() const { return Access::handle(*this).value().rank(); }
Extent Tensor::size(int axis) const { return Access::handle(*this).value().extent(axis); }

std::vector<int64_t> Tensor::dims(Where where) const {
  std::vector<int64_t> sizes;
  const Shape seen = shape();
  for (const Axis& axis : seen.axes()) {
    const auto size = size_of(axis.extent());
    if (!size) {
      return to_array(where).dims();  // data decide it
    }
    sizes.push_back(*size);
  }
  return sizes;
}

int64_t Tensor::dims(int axis, Where where) const {
  return dims(where)[static_cast<size_t>(shape().normalize_axis(axis))];
}

int64_t Tensor::count(Where where) const {
  const std::vector<int64_t> sizes = dims(where);
  return Shape(dtype(), {sizes.begin(), sizes.end()}).size();
}

// --- Looking

Array Tensor::to_array(Where where) const { return realize_tensors({*this}, "to_array()", where).front(); }

namespace {

double only_element(const Tensor& tensor, const char* reason, const std::source_location& where) {
  if (tensor.count(where) != 1) {
    fail("{}: the tensor is {}, must have one element", reason, tensor.shape().to_string());
  }
  return realize_tensors({tensor}, reason, where).front().at(0);
}

}  // namespace

double Tensor::item(Where where) const { return only_element(*this, "item()", where); }
bool Tensor::is_true(Where where) const { return only_element(*this, "is_true()", where) != 0; }

std::string Tensor::to_string(int64_t limit, Where where) const {
  return realize_tensors({*this}, "printing", where).front().to_string(limit);
}

std::ostream& operator<<(std::ostream& out, const PrintedTensor& printed) {
  return out << printed.tensor.to_string(64, printed.where);
}

void realize(const std::vector<Tensor>& tensors, std::source_location where) {
  realize_tensors(tensors, "realize()", where);
}

void discard_writes(const std::vector<Tensor>& tensors) { std::ranges::for_each(tensors, discard_pending); }

Graph recorded_graph(const std::vector<Tensor>& tensors) { return planned_graph(tensors); }

// --- Views and computing under usual names

Tensor Tensor::t() const {
  const int n = rank();
  if (n < 2) {
    fail("t(): the tensor is {}, must have two axes", shape().to_string());
  }
  std::vector<int64_t> axes;
  for (int i = 0; i < n; ++i) {
    axes.push_back(i);
  }
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return transpose(axes);
}

Tensor Tensor::narrow(int axis, const Extent& start, const Extent& length) const {
  const int normal = shape().normalize_axis(axis);
  const Extent all = size(normal);
  const auto first = start.constant();
  const Extent begin = first && *first < 0 ? all + start : start;
  const auto begins = size_of(begin);
  const auto count = size_of(length);
  const auto ends = size_of(all);
  if ((count && *count < 0) || (begins && (*begins < 0 || (count && ends && *begins + *count > *ends)))) {
    fail("narrow(): {} elements from {} on, of axis {} of {}", length.to_string(), start.to_string(), normal,
         shape().to_string());
  }
  return slice_axis(normal, begin, begin + length);
}

Tensor Tensor::select_at(int64_t i, int axis) const {
  const auto normal = shape().normalize_axis(axis);
  const auto elements = size_of(size(normal));
  if (elements && (i < -*elements || i >= *elements)) {
    fail("position {} of axis {}, which has {} elements, of {}", i, normal, *elements, shape().to_string());
  }
  const Extent begin = i < 0 ? size(normal) + i : Extent(i);  // by the axis, not its size: it holds at every size
  return slice_axis(normal, begin, begin + 1).squeeze({normal});
}

Tensor Tensor::flatten(int first) const {
  const Shape from = shape();
  const int begin = from.rank() == 0 ? 0 : from.normalize_axis(first);
  std::vector<Axis> to(from.axes().begin(), from.axes().begin() + begin);
  Extent rest = 1;
  for (int i = begin; i < from.rank(); ++i) {
    rest *= from.extent(i);
  }
  to.emplace_back(rest);
  return reshape(to);
}

Tensor Tensor::to(Dtype dtype) const {
  return recorded({*this}, [&](Sizes sizes) { return cast(read(*this, sizes), dtype); });
}

Tensor Tensor::clone() const {
  return recorded({*this}, [&](Sizes) { return read(*this); });
}

Tensor Tensor::detach() const {
  auto handle = std::make_shared<Handle>(Access::handle(*this));
  handle->detached = true;
  return Tensor(std::move(handle));
}

// --- Writing

Tensor& Tensor::copy_(const TensorOperand& value) {
  const Shape to = shape();
  if (value.tensor() == nullptr) {
    return fill_(value.number());
  }
  const Shape from = value.tensor()->shape();
  const auto refuse = [&] { fail("cannot write {} into {}", from.to_string(), to.to_string()); };
  if (from.dtype() != to.dtype() || from.rank() > to.rank()) {
    refuse();
  }
  if (from == to) {
    write(*this, *value.tensor());
    return *this;
  }
  // A broadcast of the value, which is no view of it: what is written must not change with it.
  try {
    write(*this, recorded({*value.tensor(), *this}, [&](Sizes sizes) {
      return tenon::broadcast_to(read(*value.tensor(), sizes), read(*this, sizes).shape().axes());
    }));
  } catch (const Refused&) {
    refuse();
  }
  return *this;
}

Tensor& Tensor::fill_(double value) {
  if (!is_float(dtype()) && Array::scalar(dtype(), value).at(0) != value) {
    fail("cannot write {} into {}", value, shape().to_string());
  }
  write(*this, recorded({*this}, [&](Sizes) { return tenon::full(Access::handle(*this).value().shape(), value); }));
  return *this;
}

Tensor& Tensor::masked_fill_(const Tensor& mask, double value) { return copy_(mask.select(value, *this)); }

Tensor& Tensor::put_(const Tensor& index, const Tensor& value, int axis, std::string_view op) {
  const Tensor next = recorded({*this, index, value}, [&](Sizes sizes) {
    const Value x = read(*this, sizes);
    const int normal = x.shape().normalize_axis(axis);
    // Scatter takes the axes of the index first; take() has them in the place of the axis.
    const Value at = read(index, sizes);
    std::vector<Axis> wanted(x.shape().axes().begin(), x.shape().axes().begin() + normal);
    wanted.insert(wanted.end(), at.shape().axes().begin(), at.shape().axes().end());
    wanted.insert(wanted.end(), x.shape().axes().begin() + normal + 1, x.shape().axes().end());
    const Value full_update = tenon::broadcast_to(read(value, sizes), wanted);
    Axes order;
    for (int i = 0; i < at.rank(); ++i) {
      order.push_back(normal + i);
    }
    for (int i = 0; i < full_update.rank(); ++i) {
      if (i < normal || i >= normal + at.rank()) {
        order.push_back(i);
      }
    }
    return tenon::scatter(x, tenon::transpose(full_update, order), {at}, {.axes = {normal}}, std::string(op));
  });
  write(*this, next);
  return *this;
}

Tensor& Tensor::operator+=(const TensorOperand& y) { return copy_(add(y)); }
Tensor& Tensor::operator-=(const TensorOperand& y) { return copy_(sub(y)); }
Tensor& Tensor::operator*=(const TensorOperand& y) { return copy_(mul(y)); }
Tensor& Tensor::operator/=(const TensorOperand& y) { return copy_(div(y)); }

}  // namespace tenon
