// A stretch of steps as a region, with the sizes of a binding.
#pragma once

#include "runtime/plan/specialization.h"

namespace tenon::runtime {

/// Makes regions of one specialization. What it is given outlives it.
class RegionMaker {
 public:
  RegionMaker(const Program& program, const Plan& plan, const Specialization& s)
      : program_(program), plan_(plan), s_(s) {}

  /// Steps [first, end) as one region, not cut yet.
  TiledRegion make(int first, int end);
  /// A region cut as another one, whose first step `first` is like (StepPlan::like).
  TiledRegion make_like(const TiledRegion& model, int first) const;

 private:
  void reserve(int first, int end);
  void add_stage(int at);
  void add_use(const RowUsePlan& plan, uint32_t from);
  int buffer_of(int slot);
  int64_t row_value(RowExtentId id) const { return rows_[static_cast<size_t>(id)]; }
  RegionStage& stage_of(const RegionUse& use);

  const Program& program_;
  const Plan& plan_;
  const Specialization& s_;
  std::vector<int64_t> rows_;  // of Plan::row_extents; empty: not computed yet
  TiledRegion region_;
};

}  // namespace tenon::runtime
