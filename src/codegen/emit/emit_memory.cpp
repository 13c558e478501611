// Loads and stores, one element or a vector of lanes at a time.
#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>

#include "codegen/emit/llvm_address.h"
#include "codegen/emit/vector_plan.h"
#include "codegen/math/llvm_scalar.h"

namespace tenon::codegen {

namespace {

llvm::Instruction* annotate(Emission& e, llvm::Instruction* access, int buffer) {
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, e.alias_scopes[static_cast<size_t>(buffer)]);
  if (llvm::MDNode* const others = e.distinct_from[static_cast<size_t>(buffer)]; others != nullptr) {
    access->setMetadata(llvm::LLVMContext::MD_noalias, others);
  }
  return access;
}

/// condition ? then() : otherwise(), each of which runs where it is wanted alone.
llvm::Value* choose(Emission& e, llvm::Value* condition, const std::function<llvm::Value*()>& then,
                    const std::function<llvm::Value*()>& otherwise) {
  llvm::BasicBlock* const yes = e.block("then");
  llvm::BasicBlock* const no = e.block("otherwise");
  llvm::BasicBlock* const next = e.block("chosen");
  e.b.CreateCondBr(condition, yes, no);
  std::array<std::pair<llvm::Value*, llvm::BasicBlock*>, 2> incoming;
  for (const bool side : {true, false}) {
    e.b.SetInsertPoint(side ? yes : no);
    llvm::Value* const value = side ? then() : otherwise();
    incoming[side ? 0 : 1] = {value, e.b.GetInsertBlock()};
    e.b.CreateBr(next);
  }
  e.b.SetInsertPoint(next);
  llvm::PHINode* const phi = e.b.CreatePHI(incoming[0].first->getType(), 2);
  for (const auto& [value, from] : incoming)
    phi->addIncoming(value, from);
  return phi;
}

/// One access by vector lanes, in memory form.
class LaneAccess {
 public:
  LaneAccess(Emission& e, int buffer, llvm::Value* mask)
      : e_(e),
        buffer_(buffer),
        mask_(mask),
        element_(memory_type(e.context(), e.buffer(buffer).dtype, 0)),
        type_(memory_type(e.context(), e.buffer(buffer).dtype, e.vector.lanes)),
        align_(byte_size(e.buffer(buffer).dtype)) {}

  llvm::Value* load(const Address& address) {
    if (address.offset != nullptr) return gather(address.first, address.offset);
    if (const auto stride = address.stride.constant()) return load_strided(address.first, *stride);
    if (e_.vector.unit_strides) return load_strided(address.first, 1);
    llvm::Value* const stride = extent(e_, address.stride);
    return by_stride(
        stride, [&](int64_t known) { return load_strided(address.first, known); },
        [&] { return gather(address.first, along(stride)); });
  }

  void store(const Address& address, llvm::Value* value) {
    const auto stride = e_.vector.unit_strides && !address.stride.is_constant() ? 1 : address.stride.constant();
    if (stride == 1) return store_contiguous(address.first, value, mask_);
    if (stride == -1) {
      return store_contiguous(last(address.first), e_.b.CreateVectorReverse(value), reversed(mask_));
    }
    // The lanes of a scatter are written in order: where all go to one place, the last remains.
    const auto scatter = [&] {
      llvm::Value* const offset = along(extent(e_, address.stride));
      annotate(e_, e_.b.CreateMaskedScatter(value, e_.b.CreateGEP(element_, address.first, offset), align_, all()),
               buffer_);
    };
    if (stride) return scatter();
    llvm::BasicBlock* const next = e_.block("stored");
    llvm::Value* const contiguous = e_.b.CreateICmpEQ(extent(e_, address.stride), e_.b.getInt64(1));
    branch(contiguous, next, [&] { store_contiguous(address.first, value, mask_); });
    scatter();
    e_.b.CreateBr(next);
    e_.b.SetInsertPoint(next);
  }

 private:
  llvm::Value* load_strided(llvm::Value* first, int64_t stride) {
    if (stride == 0) return load_one(first);
    if (stride == 1) return load_contiguous(first, mask_);
    if (stride == -1) return e_.b.CreateVectorReverse(load_contiguous(last(first), reversed(mask_)));
    constexpr int64_t kFarthest = 4;
    const bool is_byte = byte_size(e_.buffer(buffer_).dtype) == 1;
    if (is_byte && stride > 1 && stride <= kFarthest && e_.target.vector_bits == 512) {
      return load_every(first, static_cast<unsigned>(stride));
    }
    return gather(first, along(e_.b.getInt64(static_cast<uint64_t>(stride))));
  }

  /// Bytes a few apart: no instruction gathers them, and LLVM would take them one by one. All between them is read,
  /// where a mask costs nothing: it is the last one's neighbours that may not be there.
  llvm::Value* load_every(llvm::Value* first, unsigned stride) {
    const unsigned lanes = e_.vector.lanes;
    std::vector<int> spread_out;
    std::vector<int> taken;
    for (unsigned i = 0; i < lanes * stride; ++i) {
      spread_out.push_back(static_cast<int>(i % stride == 0 ? i / stride : lanes));
      if (i % stride == 0) taken.push_back(static_cast<int>(i));
    }
    llvm::Value* const mask =
        e_.b.CreateShuffleVector(all(), llvm::Constant::getNullValue(all()->getType()), spread_out);
    auto* const stretch = llvm::FixedVectorType::get(element_, lanes * stride);
    llvm::Value* const bytes = annotate(
        e_, e_.b.CreateMaskedLoad(stretch, first, align_, mask, llvm::Constant::getNullValue(stretch)), buffer_);
    return e_.b.CreateShuffleVector(bytes, taken);
  }

  /// One element for all lanes. It is read only if a lane wants it.
  llvm::Value* load_one(llvm::Value* first) {
    llvm::Value* const wanted = mask_ == nullptr || mask_ == e_.vector.mask ? nullptr : e_.b.CreateOrReduce(mask_);
    llvm::Value* const one = when(
        e_, wanted, [&] { return annotate(e_, e_.b.CreateAlignedLoad(element_, first, align_), buffer_); },
        llvm::Constant::getNullValue(element_));
    llvm::Value* const lanes = spread(e_, one);
    return mask_ == nullptr ? lanes : e_.b.CreateSelect(mask_, lanes, llvm::Constant::getNullValue(type_));
  }

  llvm::Value* load_contiguous(llvm::Value* first, llvm::Value* mask) {
    const auto read = [&](llvm::Align align) -> llvm::Value* {
      return annotate(e_, e_.b.CreateAlignedLoad(type_, first, align), buffer_);
    };
    if (mask == nullptr && e_.gpu != nullptr) {
      return choose(e_, is_aligned(first), [&] { return read(whole()); }, [&] { return load_one_by_one(first); });
    }
    if (mask == nullptr) return read(align_);
    llvm::Constant* const nothing = llvm::Constant::getNullValue(type_);
    return annotate(e_, e_.b.CreateMaskedLoad(type_, first, align_, mask, nothing), buffer_);
  }

  void store_contiguous(llvm::Value* first, llvm::Value* value, llvm::Value* mask) {
    llvm::Value* const past = e_.buffer(buffer_).role == loops::Role::output ? e_.vector.nontemporal : nullptr;
    const auto store = [&] {
      annotate(e_,
               mask == nullptr ? static_cast<llvm::Instruction*>(e_.b.CreateAlignedStore(value, first, align_))
                               : e_.b.CreateMaskedStore(value, first, align_, mask),
               buffer_);
    };
    if (mask == nullptr && e_.gpu != nullptr) {
      llvm::BasicBlock* const done = e_.block("stored");
      branch(is_aligned(first), done, [&] { annotate(e_, e_.b.CreateAlignedStore(value, first, whole()), buffer_); });
      store_one_by_one(first, value);
      e_.b.CreateBr(done);
      return e_.b.SetInsertPoint(done);
    }
    if (past == nullptr) return store();
    llvm::BasicBlock* const next = e_.block("stored");
    branch(past, next, [&] { store_nontemporal(first, value); });
    store();
    e_.b.CreateBr(next);
    e_.b.SetInsertPoint(next);
  }

  /// LLVM would make one of accesses that differ in nothing but their alignment.
  llvm::Value* load_one_by_one(llvm::Value* first) {
    llvm::Value* lanes = llvm::PoisonValue::get(type_);
    for (unsigned i = 0; i < e_.vector.lanes; ++i) {
      llvm::Value* const at = e_.b.CreateConstGEP1_64(element_, first, i);
      lanes = e_.b.CreateInsertElement(lanes, annotate(e_, e_.b.CreateAlignedLoad(element_, at, align_), buffer_), i);
    }
    return lanes;
  }
  void store_one_by_one(llvm::Value* first, llvm::Value* value) {
    for (unsigned i = 0; i < e_.vector.lanes; ++i) {
      llvm::Value* const at = e_.b.CreateConstGEP1_64(element_, first, i);
      annotate(e_, e_.b.CreateAlignedStore(e_.b.CreateExtractElement(value, i), at, align_), buffer_);
    }
  }

  /// GPUs read and write vectors only at multiples of their size.
  llvm::Align whole() const { return llvm::Align(e_.vector.lanes * align_.value()); }
  llvm::Value* is_aligned(llvm::Value* first) {
    llvm::Value* const address = e_.b.CreatePtrToInt(first, e_.i64());
    return e_.b.CreateICmpEQ(e_.b.CreateAnd(address, whole().value() - 1), e_.b.getInt64(0));
  }

  void store_nontemporal(llvm::Value* first, llvm::Value* value) {
    const llvm::Align whole(std::min(uint64_t{64}, e_.vector.lanes * byte_size(e_.buffer(buffer_).dtype)));
    llvm::StoreInst* const past = e_.b.CreateAlignedStore(value, first, whole);
    llvm::Metadata* const one = llvm::ConstantAsMetadata::get(e_.b.getInt32(1));
    past->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(e_.context(), {one}));
    annotate(e_, past, buffer_);
  }

  llvm::Value* gather(llvm::Value* first, llvm::Value* offset) {
    llvm::Value* const pointers = e_.b.CreateGEP(element_, first, offset);
    llvm::Constant* const nothing = llvm::Constant::getNullValue(type_);
    return annotate(e_, e_.b.CreateMaskedGather(type_, pointers, align_, all(), nothing), buffer_);
  }

  /// Strides that are known when the kernel runs are 1, or 0 where an axis of size 1 is broadcast, and seldom others.
  llvm::Value* by_stride(llvm::Value* stride, const std::function<llvm::Value*(int64_t)>& known,
                         const std::function<llvm::Value*()>& other) {
    llvm::BasicBlock* const next = e_.block("loaded");
    std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> incoming;
    for (const int64_t each : {1, 0}) {
      branch(e_.b.CreateICmpEQ(stride, e_.b.getInt64(static_cast<uint64_t>(each))), next, [&] {
        llvm::Value* const value = known(each);
        incoming.emplace_back(value, e_.b.GetInsertBlock());
      });
    }
    llvm::Value* const value = other();
    incoming.emplace_back(value, e_.b.GetInsertBlock());
    e_.b.CreateBr(next);
    e_.b.SetInsertPoint(next);
    llvm::PHINode* const phi = e_.b.CreatePHI(type_, static_cast<unsigned>(incoming.size()));
    for (const auto& [each, from] : incoming)
      phi->addIncoming(each, from);
    return phi;
  }

  /// if (condition) { then(); goto next; }
  void branch(llvm::Value* condition, llvm::BasicBlock* next, const std::function<void()>& then) {
    llvm::BasicBlock* const yes = e_.block("then");
    llvm::BasicBlock* const no = e_.block("otherwise");
    e_.b.CreateCondBr(condition, yes, no);
    e_.b.SetInsertPoint(yes);
    then();
    e_.b.CreateBr(next);
    e_.b.SetInsertPoint(no);
  }

  llvm::Value* along(llvm::Value* stride) { return e_.b.CreateNSWMul(spread(e_, stride), lane_numbers(e_, 64)); }
  llvm::Value* last(llvm::Value* first) {
    return e_.b.CreateGEP(element_, first, e_.b.getInt64(static_cast<uint64_t>(1) - e_.vector.lanes));
  }
  llvm::Value* reversed(llvm::Value* mask) { return mask == nullptr ? nullptr : e_.b.CreateVectorReverse(mask); }
  llvm::Value* all() {
    return mask_ != nullptr
               ? mask_
               : llvm::ConstantInt::getTrue(llvm::VectorType::get(e_.b.getInt1Ty(), e_.vector.lanes, false));
  }

  Emission& e_;
  int buffer_;
  llvm::Value* mask_;
  llvm::Type* element_;
  llvm::Type* type_;
  llvm::Align align_;
};

/// Whether an access is the same for all lanes.
bool is_uniform(Emission& e, const loops::Affine& at, const std::vector<loops::Bound>& inside) {
  if (e.vector.lanes == 0) return true;
  return scale_of(at, e.vector.axis) == Extent(0) && std::ranges::none_of(inside, [&](const loops::Bound& bound) {
           return scale_of(bound.index, e.vector.axis) != Extent(0);
         });
}

}  // namespace

llvm::Value* load(Emission& e, const loops::Load& what) {
  const Dtype dtype = e.buffer(what.buffer).dtype;
  const bool uniform = is_uniform(e, what.at, what.inside) && std::ranges::none_of(what.lookups, [&](const auto& each) {
                         return is_vector(e.values[static_cast<size_t>(each.value)]);
                       });
  llvm::Type* const type = memory_type(e.context(), dtype, uniform ? 0 : e.vector.lanes);
  const auto read = [&](const Address& address, llvm::Value* mask) -> llvm::Value* {
    if (!uniform) return LaneAccess(e, what.buffer, mask).load(address);
    return annotate(e, e.b.CreateAlignedLoad(type, address.first, llvm::Align(byte_size(dtype))), what.buffer);
  };
  // Without masked loads lanes are read one by one under a mask: most vectors lie inside and need none.
  const bool one_by_one =
      !uniform && what.lookups.empty() && !has_masked_access(e.target, static_cast<int>(byte_size(dtype)));
  const auto read_inside = [&]() -> llvm::Value* {
    if (llvm::Value* const inside = one_by_one ? all_lanes_inside(e, what.inside) : nullptr) {
      const Address address = address_of(e, what.buffer, what.at);
      return choose(
          e, inside, [&] { return read(address, e.vector.mask); },
          [&] { return read(address, both(e, e.vector.mask, lane_bounds(e, what.inside))); });
    }
    llvm::Value* const mask = uniform ? nullptr : both(e, e.vector.mask, lane_bounds(e, what.inside));
    Address address = address_of(e, what.buffer, what.at);
    if (what.lookups.empty()) return read(address, mask);
    Lookups checked(e, mask);
    checked.move(address, what);
    return checked.result(read(address, mask));
  };
  llvm::Value* const inside = uniform_bounds(e, what.inside);
  return widen(e.scalar_context, dtype, when(e, inside, read_inside, llvm::Constant::getNullValue(type)));
}

void store(Emission& e, const loops::Store& what) {
  const Dtype dtype = e.buffer(what.buffer).dtype;
  llvm::Value* value = e.values[static_cast<size_t>(what.value)];
  const bool uniform = is_uniform(e, what.at, what.inside) && !is_vector(value);
  const auto write = [&] {
    if (uniform) {
      value = narrow(e.scalar_context, dtype, value);
      annotate(e,
               e.b.CreateAlignedStore(value, address_of(e, what.buffer, what.at).first, llvm::Align(byte_size(dtype))),
               what.buffer);
      return;
    }
    value = spread(e, narrow(e.scalar_context, dtype, value));
    const auto write_under = [&](llvm::Value* mask) {
      LaneAccess(e, what.buffer, mask).store(address_of(e, what.buffer, what.at), value);
    };
    const auto write_inside = [&] { write_under(both(e, e.vector.mask, lane_bounds(e, what.inside))); };
    llvm::Value* const all = e.gpu == nullptr ? nullptr : all_lanes_inside(e, what.inside);
    if (all == nullptr) return write_inside();
    when(e, all, [&] { write_under(e.vector.mask); });  // a GPU writes lanes under a mask one by one
    when(e, e.b.CreateNot(all), write_inside);
  };
  if (llvm::Value* const inside = uniform_bounds(e, what.inside); inside != nullptr) {
    when(e, inside, write);
  } else {
    write();
  }
}

void name_alias_scopes(Emission& e) {
  llvm::MDBuilder builder(e.context());
  llvm::MDNode* const domain = builder.createAnonymousAliasScopeDomain();
  std::vector<llvm::MDNode*> scopes;
  for (size_t i = 0; i < e.kernel.buffers.size(); ++i)
    scopes.push_back(builder.createAnonymousAliasScope(domain));
  const auto is_output = [&](size_t i) { return e.kernel.buffers[i].role == loops::Role::output; };
  const auto may_share = [&](size_t i, size_t j) {
    const loops::MayShare pair{.input = static_cast<int>(i), .output = static_cast<int>(j)};
    return std::ranges::find(e.kernel.may_share, pair) != e.kernel.may_share.end();
  };
  for (size_t i = 0; i < scopes.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (size_t j = 0; j < scopes.size(); ++j) {
      const bool may_overlap = i == j || (is_output(i) && is_output(j)) || may_share(i, j) || may_share(j, i);
      if (!may_overlap) others.push_back(scopes[j]);
    }
    e.alias_scopes.push_back(llvm::MDNode::get(e.context(), {scopes[i]}));
    e.distinct_from.push_back(others.empty() ? nullptr : llvm::MDNode::get(e.context(), others));
  }
}

}  // namespace tenon::codegen
