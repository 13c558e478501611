// How sin and cos of numbers beyond 2^17 are reduced where no function can be called.
#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "codegen/jit/jit.h"
#include "codegen/math/llvm_math.h"

namespace tenon::codegen::trig_far_test {
namespace {

constexpr unsigned kLanes = 4;

/// void reduce(const float x[4], float rest[4], int32_t count[4])
Jit::Request reduction(bool half) {
  return {.key = half ? "half" : "whole", .symbol = "reduce", .emit = [half](llvm::LLVMContext& context) {
            auto module = std::make_unique<llvm::Module>("reduce", context);
            llvm::IRBuilder<> b(context);
            llvm::Type* const pointer = b.getPtrTy();
            auto* const type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer}, false);
            auto* const function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "reduce", *module);
            b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
            const EmitContext emit{b, {}};
            auto* const lanes = llvm::FixedVectorType::get(b.getFloatTy(), kLanes);
            llvm::Value* const x = b.CreateAlignedLoad(lanes, function->getArg(0), llvm::Align(4));
            const FarFromZero far = reduce_far({&emit, x}, half);
            b.CreateAlignedStore(far.rest, function->getArg(1), llvm::Align(4));
            b.CreateAlignedStore(far.count, function->getArg(2), llvm::Align(4));
            b.CreateRetVoid();
            return module;
          }};
}

TEST(TrigFar, GivesWhatIsLeftOfMultiplesOfPi) {
  JitOptions options;
  options.cache.enabled = false;
  Jit jit(options);
  using Reduce = void(const float*, float*, int32_t*);
  for (const bool half : {false, true}) {
    const Jit::Request request = reduction(half);
    auto* const reduce = reinterpret_cast<Reduce*>(jit.compile({&request, 1}).front());
    for (uint32_t bits = 0x48000000; bits < 0x7f800000; bits += 30'011) {
      std::vector<float> x(kLanes), rest(kLanes);
      std::vector<int32_t> count(kLanes);
      for (uint32_t i = 0; i < kLanes; ++i)
        x[i] = std::bit_cast<float>(std::min(bits + 7 * i, 0x7f7fffffU));
      reduce(x.data(), rest.data(), count.data());
      for (size_t i = 0; i < kLanes; ++i) {
        const double sine = std::sin(static_cast<double>(rest[i])) * (count[i] % 2 == 0 ? 1 : -1);
        const double exact = half ? -std::cos(static_cast<double>(x[i])) : std::sin(static_cast<double>(x[i]));
        ASSERT_NEAR(sine, exact, 1e-7 * std::fabs(exact)) << x[i];
        ASSERT_LE(std::fabs(rest[i]), 1.5708f) << x[i];
      }
    }
  }
}

TEST(TrigFar, HasNoRestOfWhatIsNotFinite) {
  JitOptions options;
  options.cache.enabled = false;
  Jit jit(options);
  const Jit::Request request = reduction(false);
  auto* const reduce = reinterpret_cast<void (*)(const float*, float*, int32_t*)>(jit.compile({&request, 1}).front());
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{infinity, std::nanf(""), 0x1p127f, 0};  // the last is not asked for
  std::vector<float> rest(kLanes);
  std::vector<int32_t> count(kLanes);
  reduce(x.data(), rest.data(), count.data());
  EXPECT_TRUE(std::isnan(rest[0]) && std::isnan(rest[1]) && std::isfinite(rest[2]));
}

}  // namespace
}  // namespace tenon::codegen::trig_far_test
