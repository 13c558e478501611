#include "runtime/work.h"

#include <algorithm>

#include "kernel/prim_cost.h"

namespace tenon::runtime {
namespace {

int64_t cost_of(const loops::Value& value) {
  const auto* compute = std::get_if<loops::Compute>(&value.what);
  return compute == nullptr ? 1 : cost(compute->prim, compute->operand_dtype);
}

/// Multiply-adds of registers full of elements, two at once.
Extent work_of(const loops::Kernel& kernel, const loops::Product& product) {
  Extent steps = 1;
  for (const std::vector<int>* axes : {&product.rows, &product.columns, &product.depth}) {
    for (const int axis : *axes) {
      steps *= kernel.axes.at(static_cast<size_t>(axis)).extent;
    }
  }
  return steps;
}

Extent work_of(const loops::Kernel& kernel, const loops::Block& block) {
  int64_t here = 0;
  Extent inside = 0;
  for (const loops::Statement& statement : block) {
    if (const auto* loop = std::get_if<loops::Loop>(&statement.what)) {
      inside += kernel.axes.at(static_cast<size_t>(loop->axis)).extent * work_of(kernel, loop->body);
    } else if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
      here += cost_of(kernel.values.at(static_cast<size_t>(define->value)));
    } else if (const auto* product = std::get_if<loops::Product>(&statement.what)) {
      inside += work_of(kernel, *product);
    } else {
      here += 1;
    }
  }
  return inside + here;
}

}  // namespace

Extent work(const loops::Kernel& kernel, const loops::Phase& phase) { return work_of(kernel, phase.body); }

bool is_copy(const loops::Kernel& kernel) {
  return kernel.accumulators.empty() && std::all_of(kernel.values.begin(), kernel.values.end(), [](const auto& value) {
           const auto* load = std::get_if<loops::Load>(&value.what);
           return load != nullptr && load->lookups.empty();
         });
}

}  // namespace tenon::runtime
