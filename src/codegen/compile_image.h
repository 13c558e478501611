// Kernels of the loop IR as one image of machine code, for any machine that there is an emitter for.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "kernel/loop/loop.h"
#include "native/code_image.h"
#include "tenon/machine.h"

namespace tenon::codegen {

struct ImageOptions {
  bool disk_cache = true;    // keep objects under the user's cache directory
  bool own_products = true;  // off: those that this build has linked in (native/linked_products.h) stay out of it
  /// Called, one at a time, when so many of all functions were begun; those that come from the cache are not counted.
  std::function<void(size_t begun, size_t of)> progress = {};
};

/// The image has the kernels in order, equal ones once, and the products that they call, for `machine`. Needs nothing
/// of the process that runs it but external_symbols(). `milliseconds` as of make_kernels().
CodeImage compile_image(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                        const ImageOptions& options, std::vector<double>* milliseconds = nullptr);

}  // namespace tenon::codegen
