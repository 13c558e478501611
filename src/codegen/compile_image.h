// Kernels of the loop IR as one image of machine code, for any machine that there is an emitter for.
#pragma once

#include <span>
#include <vector>

#include "kernel/loop/loop.h"
#include "native/code_generator.h"
#include "native/code_image.h"
#include "tenon/machine.h"

namespace tenon::codegen {

/// The image has the kernels in order, equal ones once, and the products that they call, for `machine`. Needs nothing
/// of the process that runs it but external_symbols(). `milliseconds` as of make_kernels().
CodeImage compile_image(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                        const ImageOptions& options, std::vector<double>* milliseconds = nullptr);

}  // namespace tenon::codegen
