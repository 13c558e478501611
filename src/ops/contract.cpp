// Contract: sums of products, and the matrix products made from them.
#include "base/refused.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "tenon/ops.h"
#include "tenon/unsupported.h"

namespace tenon {

bool multiplies_into(Dtype lhs, Dtype rhs, Dtype result) {
  const auto narrow = [](Dtype d) { return d == Dtype::i8 || d == Dtype::u8; };
  const auto half = [](Dtype d) { return d == Dtype::f16 || d == Dtype::bf16; };
  return (lhs == rhs && lhs == result) || (narrow(lhs) && narrow(rhs) && result == Dtype::i32) ||
         (half(lhs) && lhs == rhs && result == Dtype::f32);
}

Inferred infer(const Contract& op, Operands in) {
  const Value& lhs = in[0];
  const Value& rhs = in[1];
  if (lhs.dtype() == Dtype::boolean) {
    refuse("is for numbers, not bool");
  }
  if (!multiplies_into(lhs.dtype(), rhs.dtype(), op.dtype)) {
    throw Unsupported(fmt::format("{} times {} in {} is not supported; cast the operands", name(lhs.dtype()),
                                  name(rhs.dtype()), name(op.dtype)));
  }
  if (op.lhs_batch.size() != op.rhs_batch.size() || op.lhs_contract.size() != op.rhs_contract.size()) {
    refuse("batch and contracted axes come in pairs");
  }
  std::vector<int> lhs_used = op.lhs_batch;
  lhs_used.insert(lhs_used.end(), op.lhs_contract.begin(), op.lhs_contract.end());
  std::vector<int> rhs_used = op.rhs_batch;
  rhs_used.insert(rhs_used.end(), op.rhs_contract.begin(), op.rhs_contract.end());
  require_axes(lhs_used, lhs.shape(), "left axis");
  require_axes(rhs_used, rhs.shape(), "right axis");

  Inferred result;
  std::vector<Axis> axes;
  for (size_t k = 0; k < op.lhs_batch.size(); ++k) {
    axes.push_back(match_axes(lhs, op.lhs_batch[k], rhs, op.rhs_batch[k], result.constraints));
  }
  for (size_t k = 0; k < op.lhs_contract.size(); ++k) {
    match_axes(lhs, op.lhs_contract[k], rhs, op.rhs_contract[k], result.constraints);
  }
  for (const int i : other_axes(lhs.rank(), lhs_used)) {
    axes.push_back(lhs.shape().axis(i));
  }
  for (const int j : other_axes(rhs.rank(), rhs_used)) {
    axes.push_back(rhs.shape().axis(j));
  }
  result.shapes = {Shape(op.dtype, std::move(axes))};
  return result;
}

Value contract(const Value& lhs, const Value& rhs, const ContractAxes& axes, std::optional<Dtype> dtype) {
  return in_context("contract", {lhs, rhs}, [&] {
    return make(Contract{.lhs_batch = normalize_axes(axes.lhs_batch, lhs.shape()),
                         .rhs_batch = normalize_axes(axes.rhs_batch, rhs.shape()),
                         .lhs_contract = normalize_axes(axes.lhs_contract, lhs.shape()),
                         .rhs_contract = normalize_axes(axes.rhs_contract, rhs.shape()),
                         .dtype = dtype.value_or(lhs.dtype())},
                {lhs, rhs});
  });
}

Value matmul(const Value& a, const Value& b) {
  return in_context("matmul", {a, b}, [&]() -> Value {
    if (a.rank() == 0 || b.rank() == 0) {
      refuse("a scalar has no axis to contract; use mul");
    }
    const int inner = b.rank() == 1 ? 0 : -2;
    if (b.rank() <= 2) {
      return contract(a, b, {.lhs_contract = {-1}, .rhs_contract = {inner}});
    }
    // Leading axes broadcast against each other; what is missing on one side is repeated.
    const auto leading = [](const Value& v) {
      const auto& axes = v.shape().axes();
      return std::vector<Axis>(axes.begin(), axes.end() - (v.rank() == 1 ? 1 : 2));
    };
    const std::vector<Axis> lead_a = leading(a);
    const std::vector<Axis> lead_b = leading(b);
    const std::vector<Axis> batch = broadcast_lists({lead_a, lead_b});
    const auto widen = [&](const Value& v, const std::vector<Axis>& lead) {
      std::vector<Axis> to = batch;
      for (size_t i = lead.size(); i < v.shape().axes().size(); ++i) {
        to.push_back(v.shape().axes()[i]);
      }
      return broadcast_to(v, to);
    };
    const std::vector<int> batch_axes = other_axes(static_cast<int>(batch.size()), {});
    return contract(widen(a, lead_a), widen(b, lead_b),
                    {.lhs_batch = batch_axes, .rhs_batch = batch_axes, .lhs_contract = {-1}, .rhs_contract = {-2}});
  });
}

}  // namespace tenon
