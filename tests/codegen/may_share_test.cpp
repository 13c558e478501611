// What code assumes of memory: that buffers are distinct, but for pairs that may share it.
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <set>

#include "codegen/emit/llvm_emit_kernel.h"
#include "codegen/native_kernel.h"
#include "kernel/facts/in_place.h"
#include "kernel/loop/loop_run.h"
#include "support/arrays.h"
#include "support/loop_builder.h"

namespace tenon::codegen::may_share_test {
namespace {

const Extent kN = Extent::name("n");

/// y = 2 x, and then what lies in x.
loops::Kernel reads_again() {
  LoopBuilder k("reads again");
  const int i = k.vector_axis("i", kN);
  const int x = k.input(f32, kN);
  const int y = k.output(f32, kN);
  const int z = k.output(f32, kN);
  k.phase({}, [&] {
    k.loop(i, [&] {
      const int first = k.load(x, affine({{i, 1}}));
      k.store(y, affine({{i, 1}}), k.compute(Prim::add, {first, first}));
      k.store(z, affine({{i, 1}}), k.load(x, affine({{i, 1}})));
    });
  });
  k.kernel().may_share = {{.input = x, .output = y}};
  return k.kernel();
}

/// Runs a kernel of n elements a buffer and gives what the last holds; the first two lie in one place.
std::vector<float> last_in_place(const loops::Kernel& kernel, const KernelEntry& entry, int64_t n) {
  std::vector<float> shared(static_cast<size_t>(n));
  for (size_t i = 0; i < shared.size(); ++i)
    shared[i] = static_cast<float>(i + 1);
  std::vector<std::vector<float>> others(kernel.buffers.size(), std::vector<float>(static_cast<size_t>(n)));
  std::vector<void*> pointers = {shared.data(), shared.data()};
  for (size_t i = pointers.size(); i < kernel.buffers.size(); ++i)
    pointers.push_back(others[i].data());
  const std::vector<int64_t> sizes = {n};
  KernelStatus status;
  const KernelArgs args{.buffers = pointers.data(), .sizes = sizes.data(), .status = &status};
  entry(&args, 0, 0, 1, nullptr);
  return pointers.size() == 2 ? shared : others.back();
}

/// The second load comes after the store, and is of another value then.
TEST(MayShare, LoadsStayBehindStoresToWhatTheyMayShareMemoryWith) {
  const loops::Kernel kernel = reads_again();
  const KernelFunction native = compile_all({kernel})[0];
  for (const int64_t n : {1, 7, 16, 33, 1000}) {
    const std::vector<float> expected = last_in_place(kernel, loops::interpreted(kernel), n);
    EXPECT_EQ(expected.back(), 2 * static_cast<float>(n));
    EXPECT_EQ(last_in_place(kernel, native, n), expected) << n;
  }
}

/// Which buffers each is said to be distinct from, buffers in the order in which they are first used.
std::vector<std::set<size_t>> distinct(const loops::Kernel& kernel) {
  llvm::LLVMContext context;
  const auto module = emit_kernel(context, kernel, "kernel", host_target(), {});
  std::vector<const llvm::Metadata*> scopes;
  const auto number = [&](const llvm::Metadata* scope) {
    const auto found = std::ranges::find(scopes, scope);
    if (found == scopes.end()) scopes.push_back(scope);
    return static_cast<size_t>(std::ranges::find(scopes, scope) - scopes.begin());
  };
  std::vector<const llvm::Instruction*> accesses;
  for (const llvm::Instruction& each : llvm::instructions(*module->getFunction("kernel"))) {
    if (const llvm::MDNode* own = each.getMetadata(llvm::LLVMContext::MD_alias_scope)) {
      accesses.push_back(&each);
      number(own->getOperand(0));
    }
  }
  std::vector<std::set<size_t>> result(scopes.size());
  for (const llvm::Instruction* each : accesses) {
    const size_t own = number(each->getMetadata(llvm::LLVMContext::MD_alias_scope)->getOperand(0));
    if (const llvm::MDNode* others = each->getMetadata(llvm::LLVMContext::MD_noalias)) {
      for (const llvm::MDOperand& other : others->operands())
        result[own].insert(number(other));
    }
  }
  return result;
}

TEST(MayShare, AllOthersAreDistinct) {
  LoopBuilder k("sum");
  const int i = k.vector_axis("i", kN);
  const int a = k.input(f32, kN);
  const int b = k.input(f32, kN);
  const int y = k.output(f32, kN);
  k.phase({}, [&] {
    k.loop(i, [&] {
      const int from_a = k.load(a, affine({{i, 1}}));
      k.store(y, affine({{i, 1}}), k.compute(Prim::add, {from_a, k.load(b, affine({{i, 1}}))}));
    });
  });
  const std::vector<std::set<size_t>> apart = {{1, 2}, {0, 2}, {0, 1}};
  EXPECT_EQ(distinct(k.kernel()), apart);
  k.kernel().may_share = {{.input = b, .output = y}};
  const std::vector<std::set<size_t>> shared = {{1, 2}, {0}, {0}};
  EXPECT_EQ(distinct(k.kernel()), shared);
  EXPECT_EQ(loops::find_may_share(k.kernel()).size(), 2u);
}

}  // namespace
}  // namespace tenon::codegen::may_share_test
