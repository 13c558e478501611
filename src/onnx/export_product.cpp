// Contractions and convolutions.
#include <algorithm>

#include "base/fail.h"
#include "onnx/export_types.h"
#include "onnx/export_writer.h"

namespace tenon {
namespace {

std::vector<int> free_axes(int rank, const std::vector<int>& batch, const std::vector<int>& contract) {
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i) {
    if (std::ranges::find(batch, i) == batch.end() && std::ranges::find(contract, i) == contract.end()) {
      axes.push_back(i);
    }
  }
  return axes;
}

std::vector<int> joined(std::initializer_list<std::vector<int>> lists) {
  std::vector<int> all;
  for (const auto& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

/// One letter for each different axis; letters of paired axes are the same.
std::string equation(const Contract& kind, int lhs_rank, int rhs_rank) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (static_cast<size_t>(lhs_rank + rhs_rank) > letters.size()) {
    fail("a contraction of {} axes has no ONNX form", lhs_rank + rhs_rank);
  }
  std::string lhs(letters.substr(0, static_cast<size_t>(lhs_rank)));
  std::string rhs(letters.substr(static_cast<size_t>(lhs_rank), static_cast<size_t>(rhs_rank)));
  std::string result;
  const auto pair = [&](const std::vector<int>& left, const std::vector<int>& right) {
    for (size_t i = 0; i < left.size(); ++i) {
      rhs[static_cast<size_t>(right[i])] = lhs[static_cast<size_t>(left[i])];
    }
  };
  pair(kind.lhs_batch, kind.rhs_batch);
  pair(kind.lhs_contract, kind.rhs_contract);
  for (const int axis : joined({kind.lhs_batch, free_axes(lhs_rank, kind.lhs_batch, kind.lhs_contract)})) {
    result += lhs[static_cast<size_t>(axis)];
  }
  for (const int axis : free_axes(rhs_rank, kind.rhs_batch, kind.rhs_contract)) {
    result += rhs[static_cast<size_t>(axis)];
  }
  return fmt::format("{},{}->{}", lhs, rhs, result);
}

/// Zeros between the elements along one axis of x, whose shape becomes that of the result.
std::string dilated(const std::string& x, Shape& shape, int axis, int64_t by, OnnxWriter& to) {
  // One axis of size 1 behind it, padded to `by`, joined with it again; the last zeros are too many.
  const auto at = static_cast<size_t>(axis);
  std::vector<Axis> axes = shape.axes();
  axes.insert(axes.begin() + axis + 1, Axis(1));
  std::vector<Extent> high(axes.size(), 0);
  high[at + 1] = by - 1;
  const std::string spread = to.pad(to.unsqueeze(x, {axis + 1}), shape.with_axes(axes),
                                    std::vector<Extent>(axes.size(), 0), high, Array::scalar(shape.dtype(), 0));
  std::vector<Extent> joint;
  for (const Axis& each : shape.axes()) {
    joint.push_back(each.extent());
  }
  joint[at] = joint[at] * by;
  axes = shape.axes();
  axes[at] = Axis((shape.extent(axis) - 1) * by + 1);
  shape = shape.with_axes(axes);
  return to.slice(to.reshape(spread, joint), {0}, {1 - by}, {axis}, {1});
}

}  // namespace

OnnxTensors write_onnx(const Contract& kind, const Node& node, OnnxWriter& to) {
  const Value& lhs = node.inputs[0];
  const Value& rhs = node.inputs[1];
  const std::string x = to.cast(to.tensor(lhs), lhs.dtype(), kind.dtype);
  const std::string y = to.cast(to.tensor(rhs), rhs.dtype(), kind.dtype);
  const std::vector<int> left = free_axes(lhs.rank(), kind.lhs_batch, kind.lhs_contract);
  const std::vector<int> right = free_axes(rhs.rank(), kind.rhs_batch, kind.rhs_contract);
  const bool batched = !kind.lhs_batch.empty();
  // A matrix product takes any number of batch axes, and several free axes on the left where there are none.
  const bool is_product =
      kind.lhs_contract.size() == 1 && (batched ? left.size() == 1 && right.size() == 1 : right.size() <= 1);
  if (!is_product) {
    return {to.typed("Einsum", {x, y}, kind.dtype, {{"equation", equation(kind, lhs.rank(), rhs.rank())}})};
  }
  return {to.typed("MatMul",
                   {to.transpose(x, joined({kind.lhs_batch, left, kind.lhs_contract})),
                    to.transpose(y, joined({kind.rhs_batch, kind.rhs_contract, right}))},
                   kind.dtype)};
}

OnnxTensors write_onnx(const Conv& kind, const Node& node, OnnxWriter& to) {
  const Dtype dtype = node.inputs[0].dtype();
  if (!is_float(dtype)) {
    fail("a convolution of {} has no ONNX form that wraps as Tenon's does", name(dtype));
  }
  if (kind.stride.empty()) {
    fail("a convolution without positions has no ONNX form");
  }
  const Dtype carrier = onnx_carrier("Conv", dtype);
  std::string x = to.cast(to.tensor(node.inputs[0]), dtype, carrier);
  const std::string w = to.cast(to.tensor(node.inputs[1]), dtype, carrier);
  Shape shape = node.inputs[0].shape().with_dtype(carrier);
  for (size_t i = 0; i < kind.x_dilation.size(); ++i) {
    if (kind.x_dilation[i] != 1) {
      x = dilated(x, shape, static_cast<int>(i) + 2, kind.x_dilation[i], to);
    }
  }
  std::vector<int64_t> pads;
  std::vector<Extent> low{0, 0};
  std::vector<Extent> high{0, 0};
  const auto plain = [](const Extent& amount) { return amount.constant().value_or(-1) >= 0; };
  const bool simple = std::ranges::all_of(kind.low, plain) && std::ranges::all_of(kind.high, plain);
  for (const auto* side : {&kind.low, &kind.high}) {
    for (const Extent& amount : *side) {
      pads.push_back(simple ? *amount.constant() : 0);
    }
  }
  if (!simple) {
    low.insert(low.end(), kind.low.begin(), kind.low.end());
    high.insert(high.end(), kind.high.begin(), kind.high.end());
    x = to.pad(x, shape, low, high, Array::scalar(carrier, 0));
  }
  const std::string result = to.node(
      "Conv", {x, w},
      {{"strides", kind.stride}, {"dilations", kind.w_dilation}, {"pads", pads}, {"group", int64_t{kind.groups}}});
  return {to.cast(result, carrier, dtype)};
}

}  // namespace tenon
