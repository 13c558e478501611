// Packing the right operand into panels: a depth of rows, each as wide as the highest register tile.
#include <vector>

#include "codegen/llvm_product.h"

namespace tenon::codegen {
namespace {

using Values = std::vector<llvm::Value*>;

/// A function of the type ProductPack with a loop in it.
class PackEmitter {
 public:
  PackEmitter(const ProductEmission& e, const char* name) : e_(e), b_(e.module.getContext()) {
    llvm::Type* const pointer = b_.getPtrTy();
    llvm::Type* const i64 = b_.getInt64Ty();
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, i64, pointer, i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, e_.module);
    function_->addParamAttr(0, llvm::Attribute::NoAlias);
    function_->addParamAttr(2, llvm::Attribute::NoAlias);
    b_.SetInsertPoint(block("entry"));
    lanes_ = static_cast<unsigned>(e.shape.lanes);
    bytes_ = byte_size(e.types.tile);
    vector_ = llvm::FixedVectorType::get(e.types.tile == Dtype::f64 ? b_.getDoubleTy() : b_.getFloatTy(), lanes_);
  }

  llvm::Function* rows() {
    Values masks;
    for (int v = 0; v < e_.shape.vectors; ++v)
      masks.push_back(e_.shape.masks ? mask_from(v) : nullptr);
    const auto panel_bytes = static_cast<uint64_t>(e_.shape.vectors) * lanes_ * bytes_;
    llvm::Value* const depth = function_->getArg(4);
    count(b_.getInt64(0), depth, 1, [&](llvm::Value* k) {
      llvm::Value* const from = at(function_->getArg(0), b_.CreateMul(k, function_->getArg(1)));
      llvm::Value* const to = at(function_->getArg(2), b_.CreateMul(k, b_.getInt64(panel_bytes)));
      for (int v = 0; v < e_.shape.vectors; ++v) {
        llvm::Value* const offset = b_.getInt64(static_cast<uint64_t>(v) * lanes_ * bytes_);
        b_.CreateAlignedStore(load(at(from, offset), masks[static_cast<size_t>(v)]), at(to, offset),
                              llvm::Align(bytes_));
      }
    });
    return finish();
  }

  /// By squares of as many elements as a vector has.
  llvm::Function* columns() {
    llvm::Value* const last = b_.CreateSub(function_->getArg(3), b_.getInt64(1));
    const auto panel = static_cast<uint64_t>(e_.shape.vectors) * lanes_;
    count(b_.getInt64(0), function_->getArg(3), lanes_, [&](llvm::Value* column) {
      Values starts;
      for (unsigned i = 0; i < lanes_; ++i) {  // absent columns repeat the last one
        llvm::Value* const mine = b_.CreateAdd(column, b_.getInt64(i));
        llvm::Value* const there = b_.CreateSelect(b_.CreateICmpSLT(mine, last), mine, last);
        starts.push_back(at(function_->getArg(0), b_.CreateMul(there, function_->getArg(1))));
      }
      llvm::Value* const to = at(function_->getArg(2), b_.CreateMul(column, b_.getInt64(bytes_)));
      count(b_.getInt64(0), function_->getArg(4), lanes_, [&](llvm::Value* k) {
        Values square;
        for (llvm::Value* each : starts)
          square.push_back(load(at(each, b_.CreateMul(k, b_.getInt64(bytes_))), nullptr));
        square = transposed(std::move(square));
        for (unsigned i = 0; i < lanes_; ++i) {
          llvm::Value* const row = b_.CreateAdd(k, b_.getInt64(i));
          b_.CreateAlignedStore(square[i], at(to, b_.CreateMul(row, b_.getInt64(panel * bytes_))), llvm::Align(bytes_));
        }
      });
    });
    return finish();
  }

 private:
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  llvm::Value* at(llvm::Value* base, llvm::Value* bytes) { return b_.CreateGEP(b_.getInt8Ty(), base, bytes); }

  llvm::Function* finish() {
    b_.CreateRetVoid();
    return function_;
  }

  void count(llvm::Value* begin, llvm::Value* end, unsigned step, const auto& body) {
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const inside = block("inside");
    llvm::BasicBlock* const after = block("after");
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), inside, after);
    b_.SetInsertPoint(inside);
    llvm::PHINode* const index = b_.CreatePHI(b_.getInt64Ty(), 2);
    index->addIncoming(begin, before);
    body(index);
    llvm::Value* const next = b_.CreateAdd(index, b_.getInt64(step));
    index->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, end), inside, after);
    b_.SetInsertPoint(after);
  }

  llvm::Value* load(llvm::Value* place, llvm::Value* mask) {
    const llvm::Align align(bytes_);
    if (mask == nullptr) return b_.CreateAlignedLoad(vector_, place, align);
    return b_.CreateMaskedLoad(vector_, place, align, mask, llvm::Constant::getNullValue(vector_));
  }

  /// The lanes of vector `v` whose column is below `columns`.
  llvm::Value* mask_from(int v) {
    std::vector<llvm::Constant*> numbers;
    for (unsigned i = 0; i < lanes_; ++i)
      numbers.push_back(b_.getInt32(static_cast<uint32_t>(v) * lanes_ + i));
    llvm::Value* const limit = b_.CreateTrunc(function_->getArg(3), b_.getInt32Ty());
    return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), b_.CreateVectorSplat(lanes_, limit));
  }

  /// Rounds of perfect shuffles: vector i meets the one half a square away, and their lanes interleave.
  Values transposed(Values square) {
    std::vector<int> low;
    std::vector<int> high;
    for (unsigned i = 0; i < lanes_; ++i) {
      const int lane = static_cast<int>(i / 2 + (i % 2) * lanes_);
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
  llvm::Function* function_ = nullptr;
  unsigned lanes_ = 0;
  uint64_t bytes_ = 0;
  llvm::FixedVectorType* vector_ = nullptr;
};

}  // namespace

llvm::Function* emit_pack_rows(const ProductEmission& e) { return PackEmitter(e, "pack_rows").rows(); }

llvm::Function* emit_pack_columns(const ProductEmission& e) { return PackEmitter(e, "pack_columns").columns(); }

}  // namespace tenon::codegen
