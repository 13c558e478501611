// Packing: the right operand into panels, a depth of rows that are each as wide as the highest register tile; the left
// one into rows. Integers are widened to what tiles read, and neighbours in depth that one instruction sums come to lie
// together: such a group is a unit.
#include <vector>

#include "codegen/math/llvm_scalar.h"
#include "codegen/products/llvm_product.h"

namespace tenon::codegen {
namespace {

using Values = std::vector<llvm::Value*>;

/// A function of the type ProductPack with loops in it.
class PackEmitter {
 public:
  PackEmitter(const ProductEmission& e, const char* name)
      : e_(e),
        b_(e.module.getContext()),
        lanes_(static_cast<unsigned>(e.shape.lanes)),
        step_(static_cast<unsigned>(e.shape.step)),
        from_bytes_(byte_size(e.types.right)),
        unit_bytes_(static_cast<uint64_t>(e.shape.right_unit())) {
    llvm::Type* const pointer = b_.getPtrTy();
    llvm::Type* const i64 = b_.getInt64Ty();
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, i64, pointer, i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, e_.module);
    function_->addParamAttr(0, llvm::Attribute::NoAlias);
    function_->addParamAttr(2, llvm::Attribute::NoAlias);
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function_));
  }

  llvm::Function* rows() {
    Values masks;
    for (int v = 0; v < e_.shape.vectors; ++v) {
      masks.push_back(e_.shape.masks ? mask_of(v) : nullptr);
    }
    count(function_->getArg(4), step_, [&](llvm::Value* k) {
      llvm::Value* const to = at(function_->getArg(2), times(k, panel() * unit_bytes_ / step_));
      for (int v = 0; v < e_.shape.vectors; ++v) {
        Values group;
        for (unsigned i = 0; i < step_; ++i) {
          llvm::Value* const row = b_.CreateMul(b_.CreateAdd(k, b_.getInt64(i)), function_->getArg(1));
          llvm::Value* const from =
              at(at(function_->getArg(0), row), number(static_cast<uint64_t>(v) * lanes_ * from_bytes_));
          group.push_back(load(from, lanes_, masks[static_cast<size_t>(v)]));
        }
        b_.CreateAlignedStore(interleaved(group), at(to, number(static_cast<uint64_t>(v) * lanes_ * unit_bytes_)),
                              llvm::Align(1));
      }
    });
    return finish();
  }

  /// By squares of as many units as a vector has lanes.
  llvm::Function* columns() {
    auto* const units = llvm::FixedVectorType::get(b_.getIntNTy(static_cast<unsigned>(8 * unit_bytes_)), lanes_);
    llvm::Value* const last = b_.CreateSub(function_->getArg(3), number(1));
    count(function_->getArg(3), lanes_, [&](llvm::Value* column) {
      Values starts;
      for (unsigned i = 0; i < lanes_; ++i) {  // absent columns repeat the last one
        llvm::Value* const mine = b_.CreateAdd(column, number(i));
        llvm::Value* const there = b_.CreateSelect(b_.CreateICmpSLT(mine, last), mine, last);
        starts.push_back(at(function_->getArg(0), b_.CreateMul(there, function_->getArg(1))));
      }
      llvm::Value* const to = at(function_->getArg(2), times(column, unit_bytes_));
      count(function_->getArg(4), lanes_ * step_, [&](llvm::Value* k) {
        Values square;
        for (llvm::Value* each : starts) {
          square.push_back(b_.CreateBitCast(load(at(each, times(k, from_bytes_)), lanes_ * step_, nullptr), units));
        }
        square = transposed(std::move(square));
        llvm::Value* const row = at(to, times(k, panel() * unit_bytes_ / step_));
        for (unsigned i = 0; i < lanes_; ++i) {
          b_.CreateAlignedStore(square[i], at(row, number(i * panel() * unit_bytes_)), llvm::Align(1));
        }
      });
    });
    return finish();
  }

  /// One row of the left operand: `columns` neighbours in depth.
  llvm::Function* left() {
    const Dtype from = e_.types.left;
    const Dtype to = e_.shape.left;
    const auto copy = [&](llvm::Value* k, unsigned lanes) {
      llvm::Value* const source = at(function_->getArg(0), times(k, byte_size(from)));
      llvm::Value* const memory =
          b_.CreateAlignedLoad(memory_type(b_.getContext(), from, lanes), source, llvm::Align(byte_size(from)));
      const EmitContext context{b_, math_options(e_.target)};
      llvm::Value* value = from == to       ? memory
                           : is_integer(to) ? extended(memory, from, to)
                                            : widen(context, from, memory);
      if (e_.shape.flips) value = b_.CreateXor(value, llvm::ConstantInt::get(value->getType(), 0x80));
      b_.CreateAlignedStore(value, at(function_->getArg(2), times(k, byte_size(to))), llvm::Align(byte_size(to)));
    };
    llvm::Value* const columns = function_->getArg(3);
    llvm::Value* const whole = b_.CreateAnd(columns, number(~uint64_t{lanes_ - 1}));
    count(whole, lanes_, [&](llvm::Value* k) { copy(k, lanes_); });
    count(columns, 1, [&](llvm::Value* k) { copy(k, 0); }, whole);
    return finish();
  }

 private:
  uint64_t panel() const { return static_cast<uint64_t>(e_.shape.vectors) * lanes_; }
  llvm::Value* number(uint64_t value) { return b_.getInt64(value); }
  llvm::Value* times(llvm::Value* value, uint64_t factor) { return b_.CreateMul(value, number(factor)); }
  llvm::Value* at(llvm::Value* base, llvm::Value* bytes) { return b_.CreateGEP(b_.getInt8Ty(), base, bytes); }

  llvm::Function* finish() {
    b_.CreateRetVoid();
    return function_;
  }

  void count(llvm::Value* end, unsigned stride, const auto& body, llvm::Value* begin = nullptr) {
    if (begin == nullptr) begin = number(0);
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const inside = llvm::BasicBlock::Create(b_.getContext(), "inside", function_);
    llvm::BasicBlock* const after = llvm::BasicBlock::Create(b_.getContext(), "after", function_);
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), inside, after);
    b_.SetInsertPoint(inside);
    llvm::PHINode* const index = b_.CreatePHI(b_.getInt64Ty(), 2);
    index->addIncoming(begin, before);
    body(index);
    llvm::Value* const next = b_.CreateAdd(index, number(stride));
    index->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), inside, after);
    b_.SetInsertPoint(after);
  }

  llvm::Value* extended(llvm::Value* memory, Dtype from, Dtype to) {
    llvm::Type* const element = b_.getIntNTy(static_cast<unsigned>(8 * byte_size(to)));
    llvm::Type* const type = with_lanes_of(memory->getType(), element);
    return is_signed_integer(from) ? b_.CreateSExt(memory, type) : b_.CreateZExt(memory, type);
  }

  /// Elements of the right operand as they lie in panels.
  llvm::Value* load(llvm::Value* place, unsigned lanes, llvm::Value* mask) {
    const llvm::Align align(from_bytes_);
    llvm::Type* const type = memory_type(b_.getContext(), e_.types.right, lanes);
    llvm::Value* const memory = mask == nullptr
                                    ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(type, place, align))
                                    : b_.CreateMaskedLoad(type, place, align, mask, llvm::Constant::getNullValue(type));
    return is_integer(e_.shape.right) ? extended(memory, e_.types.right, e_.shape.right) : memory;
  }

  /// Lane by lane one element of each.
  llvm::Value* interleaved(const Values& group) {
    if (group.size() == 1) return group.front();
    Values even;
    Values odd;
    for (size_t i = 0; i < group.size(); i += 2) {
      even.push_back(group[i]);
      odd.push_back(group[i + 1]);
    }
    llvm::Value* const a = interleaved(even);
    const unsigned lanes = lane_count(a->getType());
    std::vector<int> order;
    for (unsigned i = 0; i < 2 * lanes; ++i) {
      order.push_back(static_cast<int>(i / 2 + (i % 2) * lanes));
    }
    return b_.CreateShuffleVector(a, interleaved(odd), order);
  }

  /// The lanes of vector `v` whose column is below `columns`.
  llvm::Value* mask_of(int v) {
    std::vector<llvm::Constant*> numbers;
    for (unsigned i = 0; i < lanes_; ++i) {
      numbers.push_back(b_.getInt32(static_cast<uint32_t>(v) * lanes_ + i));
    }
    llvm::Value* const limit = b_.CreateTrunc(function_->getArg(3), b_.getInt32Ty());
    return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), b_.CreateVectorSplat(lanes_, limit));
  }

  /// Rounds of perfect shuffles: vector i meets the one half a square away, and their lanes interleave.
  Values transposed(Values square) {
    std::vector<int> low;
    std::vector<int> high;
    for (unsigned i = 0; i < lanes_; ++i) {
      const auto lane = static_cast<int>(i / 2 + (i % 2) * lanes_);
      low.push_back(lane);
      high.push_back(lane + static_cast<int>(lanes_ / 2));
    }
    for (unsigned rounds = lanes_; rounds > 1; rounds /= 2) {
      Values next;
      for (unsigned i = 0; i < lanes_ / 2; ++i) {
        next.push_back(b_.CreateShuffleVector(square[i], square[i + lanes_ / 2], low));
        next.push_back(b_.CreateShuffleVector(square[i], square[i + lanes_ / 2], high));
      }
      square = std::move(next);
    }
    return square;
  }

  const ProductEmission& e_;
  llvm::IRBuilder<> b_;
  unsigned lanes_;
  unsigned step_;
  uint64_t from_bytes_;  // of an element of the right operand
  uint64_t unit_bytes_;
  llvm::Function* function_ = nullptr;
};

}  // namespace

llvm::Function* emit_pack_rows(const ProductEmission& e) { return PackEmitter(e, "pack_rows").rows(); }

llvm::Function* emit_pack_columns(const ProductEmission& e) { return PackEmitter(e, "pack_columns").columns(); }

llvm::Function* emit_pack_left(const ProductEmission& e) { return PackEmitter(e, "pack_left").left(); }

}  // namespace tenon::codegen
