#include "compiler/backend.h"

#include "kernel/loop/loop_run.h"

#ifdef TENON_WITH_LLVM
#include "codegen/compile_kernels.h"
#include "codegen/products/product_shape.h"
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

/// One for the process, so that equal kernels of different graphs are compiled once; it lives as long as any code.
std::shared_ptr<codegen::Jit> shared_jit(bool disk_cache) {
  static const auto make = [](bool cached) {
    codegen::JitOptions options = codegen::kernel_jit_options();
    options.cache.enabled = cached;
    return std::make_shared<codegen::Jit>(std::move(options));
  };
  static const std::shared_ptr<codegen::Jit> with_cache = make(true);
  static const std::shared_ptr<codegen::Jit> without = make(false);
  return disk_cache ? with_cache : without;
}

KernelCode compile_natively(std::span<const loops::Kernel* const> kernels, bool disk_cache) {
  const std::shared_ptr<codegen::Jit> jit = shared_jit(disk_cache);
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

int64_t panel_columns(const BackendOptions& options) {
  const codegen::ProductShape shape = codegen::product_shape({}, codegen::host_target());
  return options.native ? int64_t{shape.lanes} * shape.vectors : 0;
}

KernelCode make_code(std::span<const loops::Kernel* const> kernels, const BackendOptions& options) {
  return options.native ? compile_natively(kernels, options.disk_cache) : interpret_kernels(kernels);
}

#else

bool has_native_code() { return false; }

int64_t panel_columns(const BackendOptions&) { return 0; }

KernelCode make_code(std::span<const loops::Kernel* const> kernels, const BackendOptions&) {
  return interpret_kernels(kernels);
}

#endif

}  // namespace tenon::compiler
