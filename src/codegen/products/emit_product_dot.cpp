// Dot products: both operands are contiguous along the depth, so vectors run along it and each sum is added up at the
// end. For few rows, where packing the right operand would cost more than the product.
#include <fmt/format.h>

#include <vector>

#include "codegen/products/llvm_product.h"

namespace tenon::codegen {
namespace {

using Values = std::vector<llvm::Value*>;

/// A ProductDot of `rows` by `columns`.
class DotEmitter {
 public:
  DotEmitter(const ProductEmission& e, int rows, int columns)
      : b_(e.module.getContext()),
        fma_(e.target.fma),
        masks_(e.shape.masks),
        rows_(rows),
        columns_(columns),
        lanes_(static_cast<unsigned>(e.shape.lanes)),
        bytes_(byte_size(e.types.tile)) {
    vector_ = llvm::FixedVectorType::get(e.types.tile == Dtype::f64 ? b_.getDoubleTy() : b_.getFloatTy(), lanes_);
    llvm::Type* const pointer = b_.getPtrTy();
    auto* const type =
        llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, b_.getInt64Ty(), pointer}, false);
    function_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, fmt::format("dot_{}x{}", rows, columns),
                                       e.module);
    for (const unsigned argument : {0U, 1U, 2U, 4U}) {
      function_->addParamAttr(argument, llvm::Attribute::NoAlias);
    }
  }

  llvm::Function* emit() {
    b_.SetInsertPoint(block("entry"));
    llvm::Value* const left_row = step(0);
    llvm::Value* const right_column = step(2);
    llvm::Value* const depth = step(4);
    Values lefts;
    Values rights;
    for (int row = 0; row < rows_; ++row) {
      lefts.push_back(at(function_->getArg(0), times(left_row, row)));
    }
    for (int column = 0; column < columns_; ++column) {
      rights.push_back(at(function_->getArg(1), times(right_column, column)));
    }
    const Values zeros(static_cast<size_t>(rows_) * static_cast<size_t>(columns_),
                       llvm::Constant::getNullValue(vector_));
    llvm::Value* const whole = b_.CreateAnd(depth, b_.getInt64(~uint64_t{lanes_ - 1}));
    Values sums = loop(b_.getInt64(0), whole, lanes_, zeros,
                       [&](llvm::Value* k, const Values& so_far) { return add(so_far, lefts, rights, k, nullptr); });
    if (masks_) {
      sums = loop(whole, depth, lanes_, sums, [&](llvm::Value* k, const Values& so_far) {
        return add(so_far, lefts, rights, k, lanes_below(b_.CreateSub(depth, k)));
      });
    }
    Values totals;
    for (auto row = sums.begin(); row != sums.end(); row += columns_) {
      totals.push_back(total({row, row + columns_}));
    }
    if (!masks_) {
      totals = loop(whole, depth, 1, totals,
                    [&](llvm::Value* k, const Values& so_far) { return add_elements(so_far, lefts, rights, k); });
    }
    finish(totals);
    return function_;
  }

 private:
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  llvm::Value* at(llvm::Value* base, llvm::Value* bytes) { return b_.CreateGEP(b_.getInt8Ty(), base, bytes); }
  llvm::Value* times(llvm::Value* value, int factor) {
    return b_.CreateMul(value, b_.getInt64(static_cast<uint64_t>(factor)));
  }
  llvm::Value* step(int index) {
    return b_.CreateLoad(b_.getInt64Ty(),
                         b_.CreateConstGEP1_64(b_.getInt64Ty(), function_->getArg(4), static_cast<uint64_t>(index)));
  }

  /// for (k = begin; k < end; k += stride) values = body(k, values).
  Values loop(llvm::Value* begin, llvm::Value* end, unsigned stride, const Values& values, const auto& body) {
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const inside = block("inside");
    llvm::BasicBlock* const after = block("after");
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), inside, after);
    b_.SetInsertPoint(inside);
    llvm::PHINode* const k = b_.CreatePHI(b_.getInt64Ty(), 2);
    k->addIncoming(begin, before);
    Values carried;
    for (llvm::Value* each : values) {
      llvm::PHINode* const phi = b_.CreatePHI(each->getType(), 2);
      phi->addIncoming(each, before);
      carried.push_back(phi);
    }
    const Values next = body(k, carried);
    llvm::Value* const following = b_.CreateAdd(k, b_.getInt64(stride));
    k->addIncoming(following, inside);
    for (size_t i = 0; i < next.size(); ++i) {
      llvm::cast<llvm::PHINode>(carried[i])->addIncoming(next[i], inside);
    }
    b_.CreateCondBr(b_.CreateICmpSLT(following, end), inside, after);
    b_.SetInsertPoint(after);
    Values results;
    for (size_t i = 0; i < next.size(); ++i) {
      llvm::PHINode* const phi = b_.CreatePHI(next[i]->getType(), 2);
      phi->addIncoming(values[i], before);
      phi->addIncoming(next[i], inside);
      results.push_back(phi);
    }
    return results;
  }

  llvm::Value* multiply_add(llvm::Value* left, llvm::Value* right, llvm::Value* sum) {
    return fma_ ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {left, right, sum})
                : b_.CreateFAdd(sum, b_.CreateFMul(left, right));
  }

  /// A vector of depth for every sum.
  Values add(const Values& sums, const Values& lefts, const Values& rights, llvm::Value* k, llvm::Value* mask) {
    llvm::Value* const offset = b_.CreateMul(k, b_.getInt64(bytes_));
    const auto load = [&](llvm::Value* base) -> llvm::Value* {
      const llvm::Align align(bytes_);
      if (mask == nullptr) return b_.CreateAlignedLoad(vector_, at(base, offset), align);
      return b_.CreateMaskedLoad(vector_, at(base, offset), align, mask, llvm::Constant::getNullValue(vector_));
    };
    Values left;
    for (llvm::Value* each : lefts) {
      left.push_back(load(each));
    }
    Values next(sums.size());
    for (size_t column = 0; column < rights.size(); ++column) {
      llvm::Value* const right = load(rights[column]);
      for (size_t row = 0; row < lefts.size(); ++row) {
        const size_t i = row * rights.size() + column;
        next[i] = multiply_add(left[row], right, sums[i]);
      }
    }
    return next;
  }

  /// One element of depth, for sums whose lanes are columns.
  Values add_elements(const Values& sums, const Values& lefts, const Values& rights, llvm::Value* k) {
    llvm::Value* const offset = b_.CreateMul(k, b_.getInt64(bytes_));
    const auto load = [&](llvm::Value* base) {
      return b_.CreateAlignedLoad(vector_->getElementType(), at(base, offset), llvm::Align(bytes_));
    };
    llvm::Value* right = llvm::PoisonValue::get(sums.front()->getType());
    for (size_t column = 0; column < rights.size(); ++column) {
      right = b_.CreateInsertElement(right, load(rights[column]), column);
    }
    Values next;
    for (size_t row = 0; row < lefts.size(); ++row) {
      llvm::Value* const left = b_.CreateVectorSplat(static_cast<unsigned>(columns_), load(lefts[row]));
      next.push_back(multiply_add(left, right, sums[row]));
    }
    return next;
  }

  llvm::Value* lanes_below(llvm::Value* count) {
    std::vector<llvm::Constant*> numbers;
    for (unsigned i = 0; i < lanes_; ++i) {
      numbers.push_back(b_.getInt64(i));
    }
    return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), b_.CreateVectorSplat(lanes_, count));
  }

  /// What each vector adds up to, side by side. A vector is a row of segments; a round folds each segment in two and
  /// joins neighbours, until each column has one lane.
  llvm::Value* total(Values vectors) {
    for (unsigned segment = lanes_; segment > 1; segment /= 2) {
      const auto fold = [&](llvm::Value* a, llvm::Value* b, unsigned lanes) {
        std::vector<int> low;
        std::vector<int> high;
        for (unsigned begin = 0; begin < lanes; begin += segment) {
          for (unsigned i = begin; i < begin + segment / 2; ++i) {
            low.push_back(static_cast<int>(i));
            high.push_back(static_cast<int>(i + segment / 2));
          }
        }
        return b_.CreateFAdd(b_.CreateShuffleVector(a, b, low), b_.CreateShuffleVector(a, b, high));
      };
      Values next;
      if (vectors.size() > 1) {
        for (size_t i = 0; i < vectors.size(); i += 2) {
          next.push_back(fold(vectors[i], vectors[i + 1], 2 * lanes_));
        }
      } else {
        llvm::Value* const only = vectors.front();
        next.push_back(fold(only, llvm::PoisonValue::get(only->getType()),
                            llvm::cast<llvm::FixedVectorType>(only->getType())->getNumElements()));
      }
      vectors = std::move(next);
    }
    return vectors.front();
  }

  void finish(const Values& totals) {
    llvm::Value* const keeps = b_.CreateICmpNE(step(5), b_.getInt64(0));
    llvm::Value* const tile_row = step(3);
    llvm::BasicBlock* const keep = block("keep");
    llvm::BasicBlock* const replace = block("replace");
    b_.CreateCondBr(keeps, keep, replace);
    for (const bool adds : {true, false}) {
      b_.SetInsertPoint(adds ? keep : replace);
      for (int row = 0; row < rows_; ++row) {
        llvm::Value* const place = at(function_->getArg(2), times(tile_row, row));
        llvm::Value* sum = totals[static_cast<size_t>(row)];
        if (adds) sum = b_.CreateFAdd(b_.CreateAlignedLoad(sum->getType(), place, llvm::Align(bytes_)), sum);
        b_.CreateAlignedStore(sum, place, llvm::Align(bytes_));
      }
      b_.CreateRetVoid();
    }
  }

  llvm::IRBuilder<> b_;
  bool fma_;
  bool masks_;
  int rows_;
  int columns_;
  unsigned lanes_;
  uint64_t bytes_;
  llvm::FixedVectorType* vector_ = nullptr;
  llvm::Function* function_ = nullptr;
};

}  // namespace

llvm::Function* emit_product_dot(const ProductEmission& e, int rows, int columns) {
  return DotEmitter(e, rows, columns).emit();
}

}  // namespace tenon::codegen
