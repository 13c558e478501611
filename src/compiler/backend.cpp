#include "compiler/backend.h"

#include "kernel/loop/loop_run.h"

#ifdef TENON_WITH_LLVM
#include <mutex>

#include "base/fail.h"
#include "codegen/compile_kernels.h"
#include "native/product_shape.h"
#endif

namespace tenon::compiler {
namespace {

KernelCode interpret_kernels(std::span<const loops::Kernel* const> kernels) {
  KernelCode code{.entries = {},
                  .milliseconds = std::vector<double>(kernels.size()),
                  .keep_alive = nullptr,
                  .description = "loop interpreter"};
  for (const loops::Kernel* kernel : kernels) {
    code.entries.push_back(loops::interpreted(*kernel));
  }
  return code;
}

#ifdef TENON_WITH_LLVM

/// One of each target for the process, so that equal kernels of different graphs are compiled once; it lives as long as
/// any code.
std::shared_ptr<codegen::Jit> shared_jit(const codegen::Target& target, bool disk_cache) {
  struct Shared {
    bool disk_cache;
    std::shared_ptr<codegen::Jit> jit;
  };
  static std::mutex mutex;
  static std::vector<Shared> all;  // two for each instruction set at most
  const std::scoped_lock lock(mutex);
  for (const Shared& each : all) {
    if (each.disk_cache == disk_cache && each.jit->target() == target) return each.jit;
  }
  codegen::JitOptions options = codegen::kernel_jit_options();
  options.target = target;
  options.cache.enabled = disk_cache;
  return all.emplace_back(disk_cache, std::make_shared<codegen::Jit>(std::move(options))).jit;
}

KernelCode compile_natively(std::span<const loops::Kernel* const> kernels, const Machine& machine, bool disk_cache) {
  const codegen::Target target = codegen::target_of(machine);
  if (!codegen::runs_on(target, codegen::host_target())) {
    fail(
        "machine `{}` has instructions that this one does not have: it is {}, and this one is {}; interpreted "
        "(CompileOptions::native off), its kernels run here",
        machine.name, describe(target), describe(codegen::host_target()));
  }
  const std::shared_ptr<codegen::Jit> jit = shared_jit(target, disk_cache);
  KernelCode code{
      .entries = {}, .milliseconds = {}, .keep_alive = jit, .description = codegen::describe(jit->target())};
  for (const KernelFunction function : codegen::compile_kernels(kernels, *jit, {}, &code.milliseconds)) {
    code.entries.emplace_back(function);
  }
  return code;
}

#endif

}  // namespace

#ifdef TENON_WITH_LLVM

bool has_native_code() { return true; }

int64_t panel_columns(const Machine& machine) {
  const codegen::ProductShape shape = codegen::product_shape({}, codegen::target_of(machine));
  return int64_t{shape.lanes} * shape.vectors;
}

int64_t vector_bytes(const Machine& machine) { return codegen::target_of(machine).vector_bits / 8; }

int64_t bytes_together(const Machine& machine) {
  const ProductTypes bytes{.left = Dtype::u8, .right = Dtype::i8, .tile = Dtype::i32};
  const codegen::ProductShape shape = codegen::product_shape(bytes, codegen::target_of(machine));
  const bool same_panels = int64_t{shape.lanes} * shape.vectors == panel_columns(machine);
  return byte_size(shape.right) == 1 && same_panels ? shape.step : 0;
}

KernelCode make_code(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                     const BackendOptions& options) {
  return options.native ? compile_natively(kernels, machine, options.disk_cache) : interpret_kernels(kernels);
}

#else

bool has_native_code() { return false; }

int64_t panel_columns(const Machine&) { return 0; }

int64_t vector_bytes(const Machine&) { return 64; }

int64_t bytes_together(const Machine&) { return 0; }

KernelCode make_code(std::span<const loops::Kernel* const> kernels, const Machine&, const BackendOptions&) {
  return interpret_kernels(kernels);
}

#endif

}  // namespace tenon::compiler
