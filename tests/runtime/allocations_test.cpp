// A run at sizes that were prepared allocates nothing: every allocation of this program is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "support/arrays.h"
#include "support/loop_builder.h"
#include "support/loop_kernels.h"
#include "support/programs.h"

// Sanitizers count for themselves. g++ and clang say it in different ways.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENON_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_SANITIZED
#endif

#ifndef TENON_SANITIZED

namespace tenon::allocations_test {
namespace {

std::atomic<int64_t> allocations = 0;

void* counted(size_t bytes, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  return memory != nullptr ? memory : throw std::bad_alloc();
}

}  // namespace
}  // namespace tenon::allocations_test

void* operator new(size_t bytes) { return tenon::allocations_test::counted(bytes, alignof(std::max_align_t)); }
void* operator new[](size_t bytes) { return tenon::allocations_test::counted(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return tenon::allocations_test::counted(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tenon::allocations_test {
namespace {

/// Code that does nothing: what the interpreter of loops allocates is not the runtime's.
Executable with_empty_kernels(const ProgramBuilder& builder) {
  std::vector<KernelEntry> code(builder.program().kernels.size(),
                                [](const KernelArgs*, int64_t, int64_t, int64_t, void*) {});
  return executable_of(builder.program(), std::move(code));
}

int64_t allocations_of(const auto& run) {
  const int64_t before = allocations.load();
  run();
  return allocations.load() - before;
}

TEST(Allocations, NoneInARunAtPreparedSizes) {
  const Extent n = Extent::name("n");
  ProgramBuilder program("chain");
  const int x = program.input("x", shape(f32, "n"));
  int last = x;
  for (int i = 0; i < 20; ++i) {
    const int next = i == 19 ? program.output("y", shape(f32, "n")) : program.intermediate(f32, n);
    program.step(scale_kernel(n, 2, 1), {last, next});
    last = next;
  }
  const Executable executable = with_empty_kernels(program);
  for (const int64_t size : {1, 1000, 300000}) {
    executable.specialize({{"n", size}});
    const Array in(f32, {size});
    Array out(f32, {size});
    const std::vector<TensorView> from = {view_of(in)};
    const std::vector<TensorView> to = {writable_view_of(out)};
    EXPECT_EQ(allocations_of([&] { executable.run_into(from, to, {.threads = 1}); }), 0) << "the first run at " << size;
    EXPECT_EQ(allocations_of([&] { executable.run_into(from, to, {.threads = 1}); }), 0)
        << "the second run at " << size;
    const std::vector<Array> inputs = {in};
    const int64_t first = allocations_of([&] { executable.run(inputs, {.threads = 1}); });
    const int64_t second = allocations_of([&] { executable.run(inputs, {.threads = 1}); });
    EXPECT_EQ(first, second);
    EXPECT_LE(first, 3) << "the list of results, its array's sizes and what counts its users";
  }
}

TEST(Allocations, FewInASpecializationHoweverLongTheProgram) {
  const auto allocations_for = [](int steps) {
    const Extent n = Extent::name("n");
    ProgramBuilder program("chain");
    int last = program.input("x", shape(f32, "n"));
    for (int i = 0; i < steps; ++i) {
      const int next = i + 1 == steps ? program.output("y", shape(f32, "n")) : program.intermediate(f32, n);
      program.step(scale_kernel(n, 2, 1), {last, next});
      last = next;
    }
    const Executable executable = with_empty_kernels(program);
    (void)executable.memory({{"n", 10}});
    return allocations_of([&] { (void)executable.memory({{"n", 20}}); });
  };
  EXPECT_EQ(allocations_for(10), allocations_for(300));
}

}  // namespace
}  // namespace tenon::allocations_test

#endif
