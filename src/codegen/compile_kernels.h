// Kernels of the loop IR as functions of this process.
#pragma once

#include <span>
#include <vector>

#include "codegen/emit/emit_kernel.h"
#include "codegen/jit/jit.h"
#include "kernel/abi.h"
#include "kernel/loop/loop.h"

namespace tenon::codegen {

/// What a Jit needs to compile kernels: the functions that they may call, and the name of this emitter.
JitOptions kernel_jit_options();

/// The request that makes `kernel` for `target`. It holds a copy of the kernel.
Jit::Request kernel_request(const loops::Kernel& kernel, const Target& target, const EmitOptions& options = {});

/// The functions of `kernels` with their objects, in order, each a KernelFunction. Kernels of equal canonical text are
/// compiled once. The code lives as long as `jit`. `milliseconds`, where given, has what each took: Jit::make().
std::vector<Jit::Function> make_kernels(std::span<const loops::Kernel* const> kernels, Jit& jit,
                                        const EmitOptions& options = {}, std::vector<double>* milliseconds = nullptr);
/// The functions alone.
std::vector<KernelFunction> compile_kernels(std::span<const loops::Kernel* const> kernels, Jit& jit,
                                            const EmitOptions& options = {},
                                            std::vector<double>* milliseconds = nullptr);

}  // namespace tenon::codegen
