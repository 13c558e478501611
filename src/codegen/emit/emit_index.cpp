// Sizes, positions and the masks that bounds make.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "codegen/emit/llvm_emission.h"
#include "codegen/emit/vector_plan.h"

namespace tenon::codegen {

namespace {

bool depends_on_lane(const Emission& e, const loops::Affine& at) {
  return e.vector.lanes != 0 && scale_of(at, e.vector.axis) != Extent(0);
}

llvm::Value* times(Emission& e, llvm::Value* value, const Extent& scale) {
  if (scale == Extent(1)) return value;
  return e.b.CreateNSWMul(value, extent(e, scale));
}

/// A number of lanes that may lie anywhere: limited to the lanes that exist, so that 32 bits are enough.
llvm::Value* limited(Emission& e, llvm::Value* lane) {
  llvm::Value* const low = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lane, e.b.getInt64(0));
  llvm::Value* const both = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, low, e.b.getInt64(e.vector.lanes));
  return e.b.CreateTrunc(both, e.b.getInt32Ty());
}

/// Lanes in [from, to).
llvm::Value* lanes_between(Emission& e, llvm::Value* from, llvm::Value* to) {
  llvm::Constant* const lanes = lane_numbers(e, 32);
  llvm::Value* const above = e.b.CreateICmpUGE(lanes, spread(e, limited(e, from)));
  llvm::Value* const below = e.b.CreateICmpULT(lanes, spread(e, limited(e, to)));
  return e.b.CreateAnd(above, below);
}

/// The size of a bound for a comparison of unsigned numbers, in which what is below 0 is above every size. No index is
/// below a negative size.
llvm::Value* unsigned_size(Emission& e, const Extent& size) {
  return e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, extent(e, size), e.b.getInt64(0));
}

/// 0 <= index < size for one bound that depends on the lane. Along a stride of 1 or -1 the bound is a range of lanes,
/// which costs no vectors of 64-bit positions.
llvm::Value* lane_bound(Emission& e, const loops::Bound& bound) {
  const Extent stride = scale_of(bound.index, e.vector.axis);
  if (stride == Extent(1)) {
    llvm::Value* const start = first_lane(e, bound.index);
    return lanes_between(e, e.b.CreateNSWNeg(start), e.b.CreateNSWSub(extent(e, bound.size), start));
  }
  if (stride == Extent(-1)) {
    llvm::Value* const end = e.b.CreateNSWAdd(first_lane(e, bound.index), e.b.getInt64(1));
    return lanes_between(e, e.b.CreateNSWSub(end, extent(e, bound.size)), end);
  }
  return e.b.CreateICmpULT(position(e, bound.index), spread(e, unsigned_size(e, bound.size)));
}

}  // namespace

llvm::Value* extent(Emission& e, const Extent& size) {
  if (const auto constant = size.constant()) return e.b.getInt64(static_cast<uint64_t>(*constant));
  llvm::Value*& loaded = e.sizes[size];
  if (loaded == nullptr) {
    const auto slot = e.size_slots.find(size);
    TENON_CHECK(slot != e.size_slots.end(), "{} is no size of the kernel", size.to_string());
    if (e.gpu != nullptr) return loaded = e.gpu->sizes[static_cast<size_t>(slot->second)];
    loaded = e.in_block(e.entry, [&] {
      llvm::Type* const pointer = e.b.getPtrTy();
      llvm::Value* const field = e.b.CreateConstGEP1_64(pointer, e.args, 1);  // KernelArgs::sizes
      llvm::LoadInst* const table = e.b.CreateLoad(pointer, field);
      llvm::LoadInst* const load =
          e.b.CreateLoad(e.i64(), e.b.CreateConstGEP1_64(e.i64(), table, static_cast<uint64_t>(slot->second)));
      for (llvm::LoadInst* each : {table, load}) {
        each->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.context(), {}));
      }
      return load;
    });
  }
  return loaded;
}

llvm::Value* first_lane(Emission& e, const loops::Affine& at) {
  // Outer axes first: what an inner loop does not change stays outside of it. A constant last: addresses take it in.
  std::vector<loops::Term> terms = at.terms;
  std::ranges::stable_sort(terms, {}, [&](const loops::Term& term) { return e.made_at(term.axis); });
  llvm::Value* sum = at.base.is_constant() ? nullptr : extent(e, at.base);
  for (const loops::Term& term : terms) {
    llvm::Value* const axis = e.axes[static_cast<size_t>(term.axis)];
    TENON_CHECK(axis != nullptr, "axis {} is used outside of its loop", term.axis);
    llvm::Value* const product = times(e, axis, term.scale);
    sum = sum == nullptr ? product : e.b.CreateNSWAdd(sum, product);
  }
  if (sum == nullptr) return extent(e, at.base);
  return at.base.is_constant() ? e.b.CreateNSWAdd(sum, extent(e, at.base)) : sum;
}

llvm::Value* position(Emission& e, const loops::Affine& at) {
  llvm::Value* const first = first_lane(e, at);
  if (!depends_on_lane(e, at)) return first;
  llvm::Value* const scale = spread(e, extent(e, scale_of(at, e.vector.axis)));
  return e.b.CreateNSWAdd(spread(e, first), e.b.CreateNSWMul(scale, lane_numbers(e, 64)));
}

llvm::Constant* lane_numbers(Emission& e, unsigned bits) {
  std::vector<llvm::Constant*> lanes;
  for (unsigned i = 0; i < e.vector.lanes; ++i)
    lanes.push_back(e.b.getIntN(bits, i));
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* spread(Emission& e, llvm::Value* value) {
  return is_vector(value) || e.vector.lanes == 0 ? value : e.b.CreateVectorSplat(e.vector.lanes, value);
}

llvm::Value* lanes_below(Emission& e, llvm::Value* count) {
  return e.b.CreateICmpULT(lane_numbers(e, 32), spread(e, e.b.CreateTrunc(count, e.b.getInt32Ty())));
}

llvm::Value* both(Emission& e, llvm::Value* a, llvm::Value* b) {
  return a == nullptr ? b : b == nullptr ? a : e.b.CreateAnd(a, b);
}

llvm::Value* uniform_bounds(Emission& e, const std::vector<loops::Bound>& bounds) {
  llvm::Value* all = nullptr;
  for (const loops::Bound& bound : bounds) {
    if (depends_on_lane(e, bound.index)) continue;
    all = both(e, all, e.b.CreateICmpULT(first_lane(e, bound.index), unsigned_size(e, bound.size)));
  }
  return all;
}

llvm::Value* lane_bounds(Emission& e, const std::vector<loops::Bound>& bounds) {
  llvm::Value* all = nullptr;
  for (const loops::Bound& bound : bounds) {
    if (depends_on_lane(e, bound.index)) all = both(e, all, lane_bound(e, bound));
  }
  return all;
}

llvm::Value* all_lanes_inside(Emission& e, const std::vector<loops::Bound>& bounds) {
  llvm::Value* all = nullptr;
  for (const loops::Bound& bound : bounds) {
    if (!depends_on_lane(e, bound.index)) continue;
    llvm::Value* const size = unsigned_size(e, bound.size);
    llvm::Value* const first = first_lane(e, bound.index);
    llvm::Value* const apart =
        times(e, e.b.getInt64(e.vector.lanes - uint64_t{1}), scale_of(bound.index, e.vector.axis));
    // Positions of lanes between lie between.
    for (llvm::Value* end : {first, e.b.CreateNSWAdd(first, apart)})
      all = both(e, all, e.b.CreateICmpULT(end, size));
  }
  return all;
}

llvm::Value* compare_positions(Emission& e, Prim prim, const loops::Affine& a, const loops::Affine& b) {
  const Extent stride = scale_of(a, e.vector.axis) - scale_of(b, e.vector.axis);
  if (prim == Prim::eq || (stride != Extent(1) && stride != Extent(-1))) return nullptr;
  // a - b is d + lane or d - lane; it is below a limit for the first lanes or for the last.
  llvm::Value* const d = e.b.CreateNSWSub(first_lane(e, a), first_lane(e, b));
  const uint64_t limit = prim == Prim::lt ? 0 : 1;
  if (stride == Extent(1)) {
    llvm::Value* const end = limited(e, e.b.CreateNSWSub(e.b.getInt64(limit), d));
    return e.b.CreateICmpULT(lane_numbers(e, 32), spread(e, end));
  }
  llvm::Value* const begin = limited(e, e.b.CreateNSWAdd(e.b.CreateNSWSub(d, e.b.getInt64(limit)), e.b.getInt64(1)));
  return e.b.CreateICmpUGE(lane_numbers(e, 32), spread(e, begin));
}

}  // namespace tenon::codegen
