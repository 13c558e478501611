// Kernels mapped to blocks of threads as native code: threads run one after the other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "codegen/native_kernel.h"
#include "codegen/random_mapped_kernel.h"
#include "kernel/loop/loop_parse.h"
#include "kernel/loop/loop_run.h"
#include "support/arrays.h"
#include "support/mapped_kernels.h"
#include "tenon/error.h"

namespace tenon::codegen::emit_threads_test {
namespace {

const std::vector<int64_t> kSizes = {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 255, 256, 257, 700};

TEST(EmitThreads, AgreeWithPlainLoopsAtEverySize) {
  const std::vector<LoopCase> cases = mapped_cases();
  std::vector<loops::Kernel> kernels;
  for (const LoopCase& each : cases)
    kernels.push_back(each.kernel);
  const std::vector<KernelFunction> functions = compile_all(kernels);
  for (size_t i = 0; i < cases.size(); ++i) {
    const LoopCase& each = cases[i];
    for (const Bindings& bindings : loop_bindings(kSizes)) {
      SCOPED_TRACE(each.name + " at " + bindings.to_string());
      std::vector<Array> expected = make_buffers(each.kernel, bindings, 1);
      each.prepare(bindings, expected);
      std::vector<Array> actual = guarded(expected);
      launch(each.kernel, functions[i], bindings, actual, 1);
      each.reference(bindings, expected);
      for (size_t b = 0; b < actual.size(); ++b) {
        if (each.kernel.buffers[b].role != loops::Role::output) continue;
        ASSERT_TRUE(close(actual[b], expected[b], each.relative, each.absolute)) << "buffer " << b;
      }
    }
  }
}

/// Where each thread has one value: its bits show the order of what comes then.
TEST(EmitThreads, CombineInTheOrderOfTheInterpreter) {
  std::vector<loops::Kernel> kernels;
  for (const int64_t threads : {1, 2, 3, 5, 31, 32, 33, 100, 1024}) {
    for (const Dtype dtype : {f32, f64, i32, u8}) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::max, ReduceOp::min})
        kernels.push_back(combining_kernel(op, dtype, threads));
    }
    for (const ReduceOp op : {ReduceOp::any, ReduceOp::all})
      kernels.push_back(combining_kernel(op, boolean, threads));
  }
  const std::vector<KernelFunction> functions = compile_all(kernels);
  for (size_t i = 0; i < kernels.size(); ++i) {
    SCOPED_TRACE(to_string(kernels[i]));
    std::vector<Array> expected = make_buffers(kernels[i], {}, i);
    std::vector<Array> actual = guarded(expected);
    launch(kernels[i], loops::interpreted(kernels[i]), {}, expected);
    launch(kernels[i], functions[i], {}, actual);
    ASSERT_TRUE(same(actual[1], expected[1]));
  }
}

std::string without(std::string text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
  return text;
}

/// The same with a loop in place of threads and blocks, and scratch of an iteration.
loops::Kernel serial(const std::string& text) {
  return loops::parse_kernel(
      without(without(without(without(text, "    barrier\n"), " threads"), " blocks"), " block"));
}

void run_seeds(uint64_t first, uint64_t count) {
  std::vector<std::string> texts;
  std::vector<loops::Kernel> kernels;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    texts.push_back(RandomMappedKernel(seed).make());
    kernels.push_back(loops::parse_kernel(texts.back()));
  }
  const std::vector<KernelFunction> functions = compile_all(kernels);
  for (size_t i = 0; i < kernels.size(); ++i) {
    for (const int64_t rows : {0, 1, 3}) {
      SCOPED_TRACE(fmt::format("seed {} at {}\n{}", first + i, rows, texts[i]));
      const Bindings bindings = {{"rows", rows}};
      std::vector<Array> expected = make_buffers(kernels[i], bindings, first + i);
      std::vector<Array> native = guarded(expected);
      std::vector<Array> plain = expected;
      launch(kernels[i], loops::interpreted(kernels[i]), bindings, expected);
      launch(kernels[i], functions[i], bindings, native);
      launch(serial(texts[i]), loops::interpreted(serial(texts[i])), bindings, plain);
      ASSERT_TRUE(same(plain[1], expected[1]));
      ASSERT_TRUE(same(native[1], expected[1]));
    }
  }
}

TEST(EmitThreads, RandomKernelsAgreeWithTheInterpreterAndWithSerialLoops) { run_seeds(1, 60); }
TEST(EmitThreads, SlowRandomKernelsAgree) { run_seeds(1000, 600); }

/// Each barrier of these kernels is needed.
TEST(EmitThreads, RandomKernelsHaveRacesWhereABarrierIsMissing) {
  constexpr std::string_view kBarrier = "    barrier\n";
  for (uint64_t seed = 1; seed < 100; ++seed) {
    const std::string text = RandomMappedKernel(seed).make();
    for (size_t at = text.find(kBarrier); at != std::string::npos; at = text.find(kBarrier, at + 1)) {
      std::string changed = text;
      const loops::Kernel kernel = loops::parse_kernel(changed.erase(at, kBarrier.size()));
      std::vector<Array> buffers = make_buffers(kernel, {{"rows", 1}}, seed);
      EXPECT_THROW(launch(kernel, loops::interpreted(kernel), {{"rows", 1}}, buffers), InternalError) << changed;
    }
  }
}

}  // namespace
}  // namespace tenon::codegen::emit_threads_test
