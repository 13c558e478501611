#include "codegen/compile_kernels.h"

#include <algorithm>
#include <memory>

#include "codegen/emit/llvm_emit_kernel.h"
#include "codegen/products/product_library.h"
#include "disk/build_id.h"
#include "kernel/loop/loop_walk.h"
#include "native/external_symbols.h"

namespace tenon::codegen {

JitOptions kernel_jit_options() {
  JitOptions options;
  options.symbols.assign(external_symbols().begin(), external_symbols().end());
  options.symbols.insert(options.symbols.end(), product_symbols().begin(), product_symbols().end());
  options.emitter = disk::build_id();
  return options;
}

namespace {

/// Whether lanes ask where they are: by bounds of loads and stores, or by positions as values. LLVM makes a fourth more
/// of such kernels (depthwise convolutions) by all that it knows about integers and masks; of all others nothing. Nor
/// of those whose time goes into products, though their operands are copied in such loops.
bool asks_for_positions(const loops::Kernel& kernel) {
  if (loops::has_products(kernel)) return false;
  bool asks = false;
  const auto is_in_lanes = [&](const loops::Term& term) {
    return kernel.axes[static_cast<size_t>(term.axis)].binding == loops::Binding::lanes;
  };
  for (const loops::Phase& phase : kernel.phases) {
    loops::for_each_statement(phase.body, [&](const loops::Statement& statement) {
      if (const auto* store = std::get_if<loops::Store>(&statement.what)) asks |= !store->inside.empty();
      const auto* const define = std::get_if<loops::Define>(&statement.what);
      if (define == nullptr) return;
      const loops::Value& value = kernel.values[static_cast<size_t>(define->value)];
      if (const auto* load = std::get_if<loops::Load>(&value.what)) asks |= !load->inside.empty();
      if (const auto* position = std::get_if<loops::Position>(&value.what))
        asks |= std::ranges::any_of(position->at.terms, is_in_lanes);
    });
  }
  return asks;
}

}  // namespace

Jit::Request kernel_request(const loops::Kernel& kernel, const Target& target, const EmitOptions& options) {
  return {.key = to_string(options) + '\n' + loops::to_string(kernel, /*canonical=*/true),
          .symbol = "kernel",
          .emit = [copy = std::make_shared<const loops::Kernel>(kernel), target, options](
                      llvm::LLVMContext& context) { return emit_kernel(context, *copy, "kernel", target, options); },
          .effort = asks_for_positions(kernel) ? Effort::full : Effort::quick};
}

std::vector<Jit::Function> make_kernels(std::span<const loops::Kernel* const> kernels, Jit& jit,
                                        const EmitOptions& options, std::vector<double>* milliseconds) {
  std::vector<Jit::Request> requests;
  for (const loops::Kernel* kernel : kernels)
    requests.push_back(kernel_request(*kernel, jit.target(), options));
  const bool disk_cache = jit.cache().enabled();
  for (const loops::Kernel* kernel : kernels) {
    loops::for_each_product(
        *kernel, [&](const loops::Product& product) { prepare_products(types_of(*kernel, product), disk_cache); });
  }
  return jit.make(requests, milliseconds);
}

std::vector<KernelFunction> compile_kernels(std::span<const loops::Kernel* const> kernels, Jit& jit,
                                            const EmitOptions& options, std::vector<double>* milliseconds) {
  std::vector<KernelFunction> functions;
  for (const Jit::Function& function : make_kernels(kernels, jit, options, milliseconds))
    functions.push_back(reinterpret_cast<KernelFunction>(function.address));
  return functions;
}

}  // namespace tenon::codegen
