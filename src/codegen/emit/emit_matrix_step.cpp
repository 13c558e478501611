// Instructions on matrices: what the threads of a warp multiply and add up together.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "codegen/emit/llvm_address.h"
#include "codegen/emit/llvm_emission.h"
#include "codegen/emit/matrix_step.h"

namespace tenon::codegen {
namespace {

constexpr unsigned kMemoryOfBlock = 3;
constexpr int64_t kLanesOfWarp = 32;
constexpr uint64_t kMatrix = 8;   // rows, and columns of half types, of what is read at once
constexpr uint64_t kOfGroup = 4;  // threads
constexpr size_t kOfRows = 4;     // words of the left operand that a thread gives an instruction,
constexpr size_t kOfColumns = 2;  // of the right one,
constexpr size_t kOfSums = 4;     // and sums

using Words = std::vector<llvm::Value*>;

class MatrixCode {
 public:
  MatrixCode(Emission& e, const MatrixStep& step, int groups, int threads)
      : e_(e), step_(step), groups_(groups), threads_(threads) {}

  void run() {
    lane_ = e_.b.CreateURem(e_.gpu->thread, number(kLanesOfWarp));
    const size_t rows = step_.left.first.size();
    const size_t columns = step_.right.first.size();
    Words sums;
    for (size_t i = 0; i < rows * columns; ++i)
      sums.push_back(e_.b.CreateLoad(e_.b.getFloatTy(), place_of_sum(i)));
    for (int64_t k = 0; k < step_.steps; k += steps_together(dtype())) {
      const Words left = is_half() ? left_matrices(k) : left_words(k);
      const Words right = is_half() ? right_matrices(k) : right_words(k);
      for (size_t i = 0; i < rows; i += 2) {
        for (size_t j = 0; j < columns; j += 2) {
          const std::array<size_t, kOfSums> at{i * columns + j, i * columns + j + 1, (i + 1) * columns + j,
                                               (i + 1) * columns + j + 1};
          multiply({left.begin() + static_cast<std::ptrdiff_t>(i / 2 * kOfRows), kOfRows},
                   {right.begin() + static_cast<std::ptrdiff_t>(j / 2 * kOfColumns), kOfColumns}, at, sums);
        }
      }
    }
    for (size_t i = 0; i < sums.size(); ++i)
      e_.b.CreateStore(sums[i], place_of_sum(i));
  }

 private:
  Dtype dtype() const { return step_.left.dtype; }
  bool is_half() const { return dtype() != Dtype::f32; }
  llvm::Value* number(int64_t value) { return e_.b.getInt64(static_cast<uint64_t>(value)); }

  llvm::Value* place_of_sum(size_t i) {
    return address_of(e_, step_.sums, {.base = static_cast<int64_t>(i), .terms = {}}).first;
  }

  /// The element so many behind a place, with the thread's own number within its warp left out of it.
  llvm::Value* pointer(const MatrixStep::Operand& operand, size_t i, llvm::Value* behind) {
    loops::Affine first = operand.first[i];
    std::erase_if(first.terms, [&](const loops::Term& term) { return term.axis == groups_ || term.axis == threads_; });
    llvm::Type* const element = is_half() ? e_.b.getInt16Ty() : static_cast<llvm::Type*>(e_.b.getInt32Ty());
    return e_.b.CreateGEP(element, address_of(e_, operand.buffer, first).first, behind);
  }

  /// Rows `r` of the matrices that the threads of a warp name, eight of them each: matrix q lies `across` rows or
  /// columns and `deep` steps behind the first.
  llvm::Value* row_of_matrix(const MatrixStep::Operand& operand, int64_t k, llvm::Value* across, llvm::Value* deep) {
    llvm::Value* const row = e_.b.CreateURem(lane_, number(kMatrix));
    const bool turns = operand.along == 1;  // a row of what is in memory is a step
    llvm::Value* const along = turns ? across : e_.b.CreateAdd(across, row);
    llvm::Value* const steps = e_.b.CreateAdd(turns ? e_.b.CreateAdd(deep, row) : deep, number(k));
    return e_.b.CreateAdd(e_.b.CreateMul(along, number(operand.along)), e_.b.CreateMul(steps, number(operand.step)));
  }

  /// 8 where the lane's bit is set.
  llvm::Value* eight_if(int64_t bit) {
    return e_.b.CreateMul(e_.b.CreateURem(e_.b.CreateUDiv(lane_, number(bit)), number(2)), number(kMatrix));
  }

  void read_matrices(const MatrixStep::Operand& operand, llvm::Value* at, size_t count, Words& into) {
    const bool turns = operand.along == 1;
    const auto how = count == 4 ? (turns ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                                         : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16)
                                : (turns ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                                         : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16);
    llvm::Type* const shared = llvm::PointerType::get(e_.context(), kMemoryOfBlock);
    llvm::Value* const read = e_.b.CreateIntrinsic(how, {shared}, {e_.b.CreateAddrSpaceCast(at, shared)});
    for (unsigned i = 0; i < count; ++i)
      into.push_back(e_.b.CreateExtractValue(read, i));
  }

  /// Of 16 rows: the upper and the lower eight, of the first and of the last eight steps.
  Words left_matrices(int64_t k) {
    Words words;
    llvm::Value* const behind = row_of_matrix(step_.left, k, eight_if(8), eight_if(16));
    for (size_t i = 0; i < step_.left.first.size(); i += 2)
      read_matrices(step_.left, pointer(step_.left, i, behind), kOfRows, words);
    return words;
  }

  /// Of eight columns, or of twice as many: the first and the last eight steps.
  Words right_matrices(int64_t k) {
    Words words;
    llvm::Value* const behind = row_of_matrix(step_.right, k, eight_if(16), eight_if(8));
    const std::vector<loops::Affine>& first = step_.right.first;
    for (size_t j = 0; j < first.size();) {
      const bool is_twice = j + 2 < first.size() && distance(first[j], first[j + 2]) == 8 * step_.right.along;
      const size_t count = is_twice ? 2 * kOfColumns : kOfColumns;
      read_matrices(step_.right, pointer(step_.right, j, behind), count, words);
      j += count;
    }
    return words;
  }

  static int64_t distance(const loops::Affine& from, const loops::Affine& to) {
    return (to.base - from.base).constant().value_or(-1);
  }

  /// Element `at`, `behind` steps from there.
  llvm::Value* word(const MatrixStep::Operand& operand, size_t i, llvm::Value* across, int64_t behind) {
    llvm::Value* const steps = e_.b.CreateAdd(e_.b.CreateURem(lane_, number(kOfGroup)), number(behind));
    llvm::Value* const at =
        e_.b.CreateAdd(e_.b.CreateMul(across, number(operand.along)), e_.b.CreateMul(steps, number(operand.step)));
    return e_.b.CreateLoad(e_.b.getInt32Ty(), pointer(operand, i, at));
  }

  Words left_words(int64_t k) {
    Words words;
    for (size_t i = 0; i < step_.left.first.size(); i += 2) {
      for (const int64_t behind : {int64_t{0}, static_cast<int64_t>(kOfGroup)}) {
        for (const size_t half : {size_t{0}, size_t{1}})
          words.push_back(word(step_.left, i + half, group(), k + behind));
      }
    }
    return words;
  }

  Words right_words(int64_t k) {
    Words words;
    for (size_t j = 0; j < step_.right.first.size(); j += 2) {
      for (const int64_t behind : {int64_t{0}, static_cast<int64_t>(kOfGroup)})
        words.push_back(word(step_.right, j, group(), k + behind));
    }
    return words;
  }

  llvm::Value* group() { return e_.b.CreateUDiv(lane_, number(kOfGroup)); }

  void multiply(std::span<llvm::Value* const> left, std::span<llvm::Value* const> right,
                const std::array<size_t, kOfSums>& at, Words& sums) {
    std::vector<llvm::Value*> arguments;
    for (const auto& side : {left, right}) {
      for (llvm::Value* each : side) {
        arguments.push_back(
            dtype() != Dtype::f16 ? each : e_.b.CreateBitCast(each, llvm::FixedVectorType::get(e_.b.getHalfTy(), 2)));
      }
    }
    for (const size_t i : at)
      arguments.push_back(sums[i]);
    const auto how = dtype() == Dtype::bf16  ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16
                     : dtype() == Dtype::f16 ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32
                                             : llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32;
    llvm::Value* const result = e_.b.CreateIntrinsic(how, {}, arguments);
    for (unsigned i = 0; i < kOfSums; ++i)
      sums[at[i]] = e_.b.CreateExtractValue(result, i);
  }

  Emission& e_;
  const MatrixStep& step_;
  int groups_, threads_;
  llvm::Value* lane_ = nullptr;
};

}  // namespace

bool gpu_matrix_step(Emission& e, const loops::Loop& loop) {
  const size_t open = e.thread_axes.size();
  if (!e.gpu->shares_scratch || e.gpu->lanes != 1 || open < 2) return false;
  const int groups = e.thread_axes[open - 2];
  const int threads = e.thread_axes[open - 1];
  const std::optional<MatrixStep> step = matrix_step(e.kernel, loop, groups, threads);
  if (step) MatrixCode(e, *step, groups, threads).run();
  return step.has_value();
}

}  // namespace tenon::codegen
