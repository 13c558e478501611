// The register tile: sums stay in registers over the whole depth; a step loads a row of the right operand and one
// element of each row of the left one. Or sums are squares of two rows by two columns, and a step loads eight bytes of
// each row and column.
#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>

#include <vector>

#include "codegen/math/llvm_scalar.h"
#include "codegen/products/llvm_product.h"
#include "kernel/product/product_steps.h"

namespace tenon::codegen {
namespace {

using Values = std::vector<llvm::Value*>;

constexpr int kRightAhead = 8;   // rows of the right operand that are asked for in advance
constexpr int kLongDepth = 128;  // over which the tile may well leave the first cache before it is written

llvm::Type* sum_type(llvm::IRBuilderBase& b, Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return b.getDoubleTy();
    case Dtype::i32: return b.getInt32Ty();
    default: return b.getFloatTy();
  }
}

class TileEmitter {
 public:
  TileEmitter(const ProductEmission& e, int rows, int vectors, bool part, int panels = 1)
      : e_(e), b_(e.module.getContext()), rows_(rows), vectors_(vectors), part_(part), panels_(panels) {
    sum_ = llvm::FixedVectorType::get(sum_type(b_, e.types.tile), static_cast<unsigned>(e.shape.lanes));
    bytes_ = static_cast<int>(byte_size(e.types.tile));
  }

  llvm::Function* emit() {
    declare();
    load_steps();
    llvm::BasicBlock* const keep = block("keep");
    llvm::BasicBlock* const zero = block("zero");
    llvm::BasicBlock* const start = block("start");
    llvm::BasicBlock* const loop = block("loop");
    llvm::BasicBlock* const done = block("done");
    llvm::BasicBlock* const fetch = block("fetch");
    llvm::BasicBlock* const fetched = block("fetched");
    b_.CreateCondBr(b_.CreateICmpSGE(step(4), b_.getInt64(kLongDepth)), fetch, fetched);
    b_.SetInsertPoint(fetch);
    for_tile([&](int, llvm::Value* place, llvm::Value*) { prefetch(place, true); });
    b_.CreateBr(fetched);
    b_.SetInsertPoint(fetched);
    b_.CreateCondBr(accumulates(Accumulate::go_on), keep, zero);
    b_.SetInsertPoint(keep);
    Values kept;
    for_tile([&](int, llvm::Value* place, llvm::Value* mask) { kept.push_back(load(place, mask)); });
    b_.CreateBr(start);
    b_.SetInsertPoint(zero);
    b_.CreateBr(start);
    b_.SetInsertPoint(start);
    Values begin;
    for (llvm::Value* each : kept) {
      llvm::PHINode* const phi = b_.CreatePHI(sum_, 2);
      phi->addIncoming(each, keep);
      phi->addIncoming(llvm::Constant::getNullValue(sum_), zero);
      begin.push_back(phi);
    }
    begin = in_squares(begin);
    llvm::Value* const depth = step(4);
    b_.CreateCondBr(b_.CreateICmpSGT(depth, b_.getInt64(0)), loop, done);

    b_.SetInsertPoint(loop);
    const auto carried = [&](llvm::Value* first) {
      llvm::PHINode* const phi = b_.CreatePHI(first->getType(), 2);
      phi->addIncoming(first, start);
      return phi;
    };
    std::vector<llvm::PHINode*> lefts;
    const Values starts = left_starts(start);
    for (llvm::Value* each : starts)
      lefts.push_back(carried(each));
    llvm::PHINode* const right = carried(function_->getArg(1));
    llvm::PHINode* const left_steps = carried(depth);
    std::vector<llvm::PHINode*> sums;
    for (llvm::Value* each : begin)
      sums.push_back(carried(each));
    const Values next = body(lefts, right, sums);
    for (llvm::PHINode* each : lefts)
      each->addIncoming(opaque(advance(each, step(1))), loop);
    right->addIncoming(opaque(advance(right, step(2))), loop);
    llvm::Value* const rest = b_.CreateSub(left_steps, b_.getInt64(1));
    left_steps->addIncoming(rest, loop);
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i]->addIncoming(next[i], loop);
    b_.CreateCondBr(b_.CreateICmpNE(rest, b_.getInt64(0)), loop, done);

    b_.SetInsertPoint(done);
    Values results;
    for (size_t i = 0; i < sums.size(); ++i) {
      llvm::PHINode* const phi = b_.CreatePHI(sum_, 2);
      phi->addIncoming(begin[i], start);
      phi->addIncoming(next[i], loop);
      results.push_back(phi);
    }
    results = out_of_squares(results);
    if (sum_->getElementType()->isFloatTy()) {
      llvm::BasicBlock* const add = block("add");
      llvm::BasicBlock* const write = block("write");
      b_.CreateCondBr(accumulates(Accumulate::add), add, write);
      b_.SetInsertPoint(add);
      finish([&](int index, llvm::Value* place, llvm::Value* mask) {
        return b_.CreateFAdd(load(place, mask), results[static_cast<size_t>(index)]);
      });
      b_.SetInsertPoint(write);
    }
    finish([&](int index, llvm::Value*, llvm::Value*) { return results[static_cast<size_t>(index)]; });
    return function_;
  }

 private:
  llvm::Value* accumulates(Accumulate how) { return b_.CreateICmpEQ(step(5), b_.getInt64(static_cast<uint64_t>(how))); }

  /// Writes the tile.
  void finish(const auto& result) {
    for_tile([&](int index, llvm::Value* place, llvm::Value* mask) { store(result(index, place, mask), place, mask); });
    b_.CreateRetVoid();
  }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  bool squares() const { return e_.shape.form == ProductForm::squares; }
  unsigned lanes() const { return static_cast<unsigned>(e_.shape.lanes); }
  llvm::Value* step(int index) const { return steps_[static_cast<size_t>(index)]; }
  llvm::Value* advance(llvm::Value* pointer, llvm::Value* bytes) {
    return b_.CreateGEP(b_.getInt8Ty(), pointer, bytes);
  }
  llvm::Value* advance(llvm::Value* pointer, int64_t bytes) {
    return advance(pointer, b_.getInt64(static_cast<uint64_t>(bytes)));
  }

  /// LLVM would replace the pointers by one and a chain of additions, each waiting for the one before.
  llvm::Value* opaque(llvm::Value* pointer) {
    auto* const type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy()}, false);
    return b_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/false), {pointer});
  }

  void declare() {
    llvm::Type* const pointer = b_.getPtrTy();
    auto* const type =
        llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, b_.getInt64Ty(), pointer}, false);
    function_ = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                       fmt::format("{}_{}x{}{}", squares() ? "squares" : "tile", rows_, vectors_,
                                                   part_         ? "_part"
                                                   : panels_ > 1 ? "_panels"
                                                                 : ""),
                                       e_.module);
    for (const unsigned argument : {0U, 1U, 2U, 4U})
      function_->addParamAttr(argument, llvm::Attribute::NoAlias);
    b_.SetInsertPoint(block("entry"));
  }

  void load_steps() {
    for (int i = 0; i < 7; ++i)
      steps_.push_back(b_.CreateLoad(
          b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), function_->getArg(4), static_cast<uint64_t>(i))));
    if (!part_) return;
    llvm::Value* const rest =
        b_.CreateSub(function_->getArg(3), b_.getInt64(static_cast<uint64_t>(vectors_ - 1) * lanes()));
    std::vector<llvm::Constant*> numbers;
    for (int i = 0; i < e_.shape.lanes; ++i)
      numbers.push_back(b_.getInt32(static_cast<uint32_t>(i)));
    llvm::Value* const limit = b_.CreateVectorSplat(lanes(), b_.CreateTrunc(rest, b_.getInt32Ty()));
    mask_ = b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), limit);
  }

  void for_tile(const auto& visit) {
    for (int row = 0; row < rows_; ++row) {
      llvm::Value* const begin = row_start(function_->getArg(2), row, step(3));
      for (int v = 0; v < vectors_; ++v)
        visit(row * vectors_ + v, advance(begin, int64_t{v} * e_.shape.lanes * bytes_),
              v + 1 == vectors_ ? mask_ : nullptr);
    }
  }

  llvm::Value* row_start(llvm::Value* base, int row, llvm::Value* stride) {
    return row == 0 ? base : advance(base, b_.CreateMul(stride, b_.getInt64(static_cast<uint64_t>(row))));
  }

  /// Addresses of three rows share a pointer: few enough registers for all pointers of the highest tile.
  Values left_starts(llvm::BasicBlock* before) {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(before->getTerminator());
    Values starts;
    for (int row = 0; row < rows_; row += 3)
      starts.push_back(row_start(function_->getArg(0), row, step(0)));
    return starts;
  }

  llvm::Value* load(llvm::Value* place, llvm::Value* mask) {
    const llvm::Align align(static_cast<uint64_t>(bytes_));
    if (mask == nullptr) return b_.CreateAlignedLoad(sum_, place, align);
    return b_.CreateMaskedLoad(sum_, place, align, mask, llvm::Constant::getNullValue(sum_));
  }

  /// One step of the right operand, as instructions take it.
  llvm::Value* load_columns(llvm::Value* place, llvm::Value* mask) {
    llvm::Type* const type =
        e_.shape.form == ProductForm::floats ? memory_type(b_.getContext(), e_.shape.right, lanes()) : sum_;
    const llvm::Align align(byte_size(e_.shape.right));
    llvm::Value* const memory = mask == nullptr
                                    ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(type, place, align))
                                    : b_.CreateMaskedLoad(type, place, align, mask, llvm::Constant::getNullValue(type));
    if (e_.shape.form != ProductForm::floats) return memory;
    return is_integer(e_.shape.right) ? b_.CreateSIToFP(memory, sum_)
                                      : widen({b_, math_options(e_.target)}, e_.shape.right, memory);
  }

  /// An element of the left operand for all sums of a vector.
  llvm::Value* splat(llvm::Value* place) {
    return b_.CreateVectorSplat(
        lanes(), b_.CreateAlignedLoad(sum_->getElementType(), place, llvm::Align(byte_size(e_.shape.left))));
  }

  /// The same where instructions take a lane for all of them: a plain load into lane 0, which what follows reads. LLVM
  /// would make one instruction of load and splat, and that takes time of the units that multiply.
  llvm::Value* first_lane(llvm::Value* place) {
    llvm::Type* const element = bytes_ == 8 ? b_.getDoubleTy() : b_.getFloatTy();
    auto* const vector = llvm::FixedVectorType::get(element, lanes());
    llvm::Value* const loaded = b_.CreateAlignedLoad(element, place, llvm::Align(byte_size(e_.shape.left)));
    llvm::Value* const lane = b_.CreateInsertElement(llvm::PoisonValue::get(vector), loaded, uint64_t{0});
    auto* const type = llvm::FunctionType::get(vector, {vector}, false);
    llvm::Value* const kept = b_.CreateCall(llvm::InlineAsm::get(type, "", "=w,0", /*hasSideEffects=*/false), {lane});
    return b_.CreateShuffleVector(b_.CreateBitCast(kept, sum_), std::vector<int>(lanes(), 0));
  }

  /// Eight bytes of each of two rows; of one alone, beside zeros.
  llvm::Value* load_rows(llvm::Value* even, llvm::Value* odd) {
    auto* const vector = llvm::FixedVectorType::get(b_.getDoubleTy(), 2);
    const auto load = [&](llvm::Value* place) {
      return b_.CreateAlignedLoad(b_.getDoubleTy(), place, llvm::Align(byte_size(e_.shape.left)));
    };
    llvm::Value* rows = b_.CreateInsertElement(llvm::Constant::getNullValue(vector), load(even), uint64_t{0});
    if (odd != nullptr) rows = b_.CreateInsertElement(rows, load(odd), uint64_t{1});
    return rows;
  }

  /// Vectors of sums, row by row, as squares: those of two rows, two for each vector of columns.
  Values in_squares(const Values& rows) {
    if (!squares()) return rows;
    const bool turned = e_.shape.squares_are_transposed();
    const std::vector<int> low = turned ? std::vector{0, 4, 1, 5} : std::vector{0, 1, 4, 5};
    const std::vector<int> high = turned ? std::vector{2, 6, 3, 7} : std::vector{2, 3, 6, 7};
    Values all;
    for (int row = 0; row < rows_; row += 2) {
      for (int v = 0; v < vectors_; ++v) {
        llvm::Value* const even = rows[static_cast<size_t>(row * vectors_ + v)];
        llvm::Value* const odd =
            row + 1 < rows_ ? rows[static_cast<size_t>((row + 1) * vectors_ + v)] : llvm::Constant::getNullValue(sum_);
        all.push_back(b_.CreateShuffleVector(even, odd, low));
        all.push_back(b_.CreateShuffleVector(even, odd, high));
      }
    }
    return all;
  }

  Values out_of_squares(const Values& all) {
    if (!squares()) return all;
    const bool turned = e_.shape.squares_are_transposed();
    const std::vector<int> even = turned ? std::vector{0, 2, 4, 6} : std::vector{0, 1, 4, 5};
    const std::vector<int> odd = turned ? std::vector{1, 3, 5, 7} : std::vector{2, 3, 6, 7};
    Values rows;
    for (int row = 0; row < rows_; ++row) {
      for (int v = 0; v < vectors_; ++v) {
        const auto first = static_cast<size_t>((row / 2 * vectors_ + v) * 2);
        rows.push_back(b_.CreateShuffleVector(all[first], all[first + 1], row % 2 == 0 ? even : odd));
      }
    }
    return rows;
  }

  void store(llvm::Value* value, llvm::Value* place, llvm::Value* mask) {
    const llvm::Align align(static_cast<uint64_t>(bytes_));
    if (mask == nullptr) {
      b_.CreateAlignedStore(value, place, align);
    } else {
      b_.CreateMaskedStore(value, place, align, mask);
    }
  }

  void prefetch(llvm::Value* place, bool write) {
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {place, b_.getInt32(write ? 1 : 0), b_.getInt32(3), b_.getInt32(1)});
  }

  Values body(const std::vector<llvm::PHINode*>& lefts, llvm::Value* right, const std::vector<llvm::PHINode*>& sums) {
    llvm::Value* const ahead = advance(right, b_.CreateMul(step(2), b_.getInt64(kRightAhead)));
    // The widest tile of one row is for operands in cache, and has nothing else to hide the prefetches behind. Panels
    // are read in order, which the machine foresees.
    const bool fetches = rows_ > 1 || (panels_ == 1 && vectors_ <= 2 * e_.shape.vectors);
    const int rights = e_.shape.rights(vectors_);
    const int all_lefts = e_.shape.lefts(rows_);
    const int in_panel = rights / panels_;
    const auto load_right = [&](int v) {
      llvm::Value* const panel = row_start(right, v / in_panel, step(6));
      const int64_t offset = int64_t{v % in_panel} * e_.shape.lanes * e_.shape.right_unit() * vectors_ / rights;
      if (fetches && offset % 64 == 0)  // once a line
        prefetch(advance(row_start(ahead, v / in_panel, step(6)), offset), false);
      return load_columns(advance(panel, offset), e_.shape.masks && v + 1 == rights ? mask_ : nullptr);
    };
    const auto left_row = [&](int row) { return row_start(lefts[static_cast<size_t>(row / 3)], row % 3, step(0)); };
    const auto load_left = [&](int index) {
      if (squares()) return load_rows(left_row(2 * index), 2 * index + 1 < rows_ ? left_row(2 * index + 1) : nullptr);
      llvm::Value* const place = left_row(index);
      return e_.target.lane_operands && e_.shape.bits == 128 ? first_lane(place) : splat(place);
    };
    Values next(sums.size());
    const auto add = [&](int row, int v, llvm::Value* left, llvm::Value* column) {
      const auto index = static_cast<size_t>(row) * static_cast<size_t>(rights) + static_cast<size_t>(v);
      next[index] = product_step({e_, b_}, left, column, sums[index]);
    };
    // Whatever there is less of stays in registers; the other passes through one.
    if (all_lefts < rights) {
      Values left;
      for (int row = 0; row < all_lefts; ++row)
        left.push_back(load_left(row));
      for (int v = 0; v < rights; ++v) {
        llvm::Value* const column = load_right(v);
        for (int row = 0; row < all_lefts; ++row)
          add(row, v, left[static_cast<size_t>(row)], column);
      }
    } else {
      Values columns;
      for (int v = 0; v < rights; ++v)
        columns.push_back(load_right(v));
      for (int row = 0; row < all_lefts; ++row) {
        llvm::Value* const left = load_left(row);
        for (int v = 0; v < rights; ++v)
          add(row, v, left, columns[static_cast<size_t>(v)]);
      }
    }
    return next;
  }

  const ProductEmission& e_;
  llvm::IRBuilder<> b_;
  int rows_;
  int vectors_;
  bool part_;
  int panels_;
  int bytes_ = 0;
  llvm::FixedVectorType* sum_ = nullptr;
  llvm::Function* function_ = nullptr;
  llvm::Value* mask_ = nullptr;
  Values steps_;
};

}  // namespace

llvm::Function* emit_product_tile(const ProductEmission& e, int rows, int vectors, bool part) {
  return TileEmitter(e, rows, vectors, part).emit();
}

llvm::Function* emit_product_panels(const ProductEmission& e, int rows, int panels) {
  return TileEmitter(e, rows, panels * e.shape.vectors, /*part=*/false, panels).emit();
}

}  // namespace tenon::codegen
