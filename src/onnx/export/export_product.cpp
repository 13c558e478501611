// Contractions: a matrix product where it is one.
#include <algorithm>

#include "base/fail.h"
#include "onnx/export/export_writer.h"

namespace tenon::exporter {
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
  if (lhs_rank + rhs_rank > std::ssize(letters)) {
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

}  // namespace tenon::exporter
