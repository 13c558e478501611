// The scalar values of a kernel that is being built: equal ones that change with the same loops are one.
#pragma once

#include <unordered_map>
#include <vector>

#include "kernel/loop/loop.h"
#include "kernel/scalar/scalar_program.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {

/// Appends to kernel.values and knows which loops each value depends on.
class KernelValues {
 public:
  explicit KernelValues(loops::Kernel& kernel) : kernel_(kernel) {}

  /// `also`: loops that it depends on though its position does not, because they change what is there.
  int load(loops::Load load, AxisSet also = 0);
  /// An affine position as an i64.
  int position(const loops::Affine& at);
  int constant(Dtype dtype, double literal);
  int compute(Prim prim, Dtype dtype, std::vector<int> operands);
  int cast(int value, Dtype to);
  int select(int condition, int yes, int no);
  /// Whether all bounds hold, as a bool; -1 for no bounds.
  int condition(const std::vector<loops::Bound>& bounds);
  /// The results of a scalar program, of which there must be one.
  int run(const ScalarProgram& program, const std::vector<int>& arguments);
  /// What an accumulator holds after its loops; `depends` are the loops outside of them.
  int result(int accumulator, Dtype dtype, AxisSet depends);

  /// Put `by` in place of `axis` in every position.
  void substitute(int axis, const loops::Affine& by);

  AxisSet axes(int value) const { return depends_[static_cast<size_t>(value)]; }
  AxisSet axes(const std::vector<loops::Bound>& bounds) const;
  Dtype dtype(int value) const { return kernel_.values[static_cast<size_t>(value)].dtype; }

 private:
  int add(loops::Value value, AxisSet depends);

  loops::Kernel& kernel_;
  std::vector<AxisSet> depends_;
  std::unordered_map<uint64_t, std::vector<int>> by_hash_;
};

}  // namespace tenon::schedule
