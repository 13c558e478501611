#ifdef TENON_WITH_LLVM
#include "backend/native.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backend/describe_cpu.h"
#include "base/fail.h"
#include "devices/cpu/cpu_device.h"
#include "kernel/loop/loop_walk.h"
#include "native/code_generator.h"
#include "native/product_shape.h"

namespace tenon::backend {
namespace {

int64_t panel_columns(const codegen::Target& target) {
  const codegen::ProductShape shape = codegen::product_shape({}, target);
  return int64_t{shape.lanes} * shape.vectors;
}

/// How many steps of a column lie side by side where constant operands of bytes lie in panels, too; 0: they do not.
int64_t bytes_together(const codegen::Target& target) {
  const ProductTypes bytes{.left = Dtype::u8, .right = Dtype::i8, .tile = Dtype::i32};
  const codegen::ProductShape shape = codegen::product_shape(bytes, target);
  const bool same_panels = int64_t{shape.lanes} * shape.vectors == panel_columns(target);
  return byte_size(shape.right) == 1 && same_panels ? shape.step : 0;
}

/// For people who ask what differs.
std::string full_text(const codegen::Target& target) {
  return describe(target) + (target.features.empty() ? "" : fmt::format(" ({})", target.features)) +
         (target.sve_bits == 0 ? "" : fmt::format(", SVE of {} bits", target.sve_bits));
}

/// Links what this process has not got yet.
std::shared_ptr<const devices::HostCode> load_objects(const devices::Module& module) {
  std::vector<ProductTypes> products;
  for (const int kind : module.product_kinds) {
    const std::span<const ProductKind> kinds = product_kinds();
    if (kind < 0 || static_cast<size_t>(kind) >= kinds.size()) {
      fail("this code needs products of kind {}, and there are {}", kind, kinds.size());
    }
    products.push_back(kinds[static_cast<size_t>(kind)].types);
  }
  std::vector<codegen::FunctionObject> objects;
  for (const devices::CodeObject& object : module.objects) {
    objects.push_back({.symbol = object.symbol, .bytes = object.bytes});
  }
  const std::optional<codegen::LinkedFunctions> linked =
      codegen::code_generator().link(module.target, objects, products);
  if (!linked) {
    fail("this code is for {}, and this machine is {}", module.description, describe(codegen::host_target()));
  }
  std::vector<KernelFunction> of_kernels;
  for (const int object : module.object_of) {
    of_kernels.push_back(linked->functions[static_cast<size_t>(object)]);
  }
  return std::make_shared<devices::HostCode>(std::move(of_kernels), linked->keep_alive);
}

std::vector<int> product_kinds_of(std::span<const loops::Kernel* const> kernels) {
  std::set<int> used;
  for (const loops::Kernel* kernel : kernels) {
    loops::for_each_product(*kernel, [&](const loops::Product& product) {
      const auto kind = std::ranges::find(product_kinds(), types_of(*kernel, product), &ProductKind::types);
      used.insert(static_cast<int>(kind - product_kinds().begin()));
    });
  }
  return {used.begin(), used.end()};
}

}  // namespace

void Native::describe(const Machine& machine, schedule::ScheduleOptions& options) const {
  const codegen::Target target = codegen::target_of(machine);
  describe_cpu(machine, options);
  options.panel = panel_columns(target);
  options.bytes_together = bytes_together(target);
}

CompiledKernels Native::compile(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                                const CodeOptions& options) const {
  const codegen::Target target = codegen::target_of(machine);
  if (!codegen::runs_on(target, codegen::host_target())) {
    fail(
        "machine `{}` has instructions that this one does not have: it is {}, and this one is {}; interpreted "
        "(CompileOptions::native off), its kernels run here",
        machine.name, full_text(target), full_text(codegen::host_target()));
  }
  CompiledKernels result;
  devices::Module& module = result.module;
  module.format = devices::kObjectCode;
  module.target = codegen::code_identity(target);
  module.description = codegen::describe(target);
  module.product_kinds = product_kinds_of(kernels);
  std::map<std::string, int> object_of_symbol;
  for (codegen::FunctionObject& object :
       codegen::code_generator().compile(kernels, target, options.disk_cache, result.milliseconds)) {
    const auto [entry, is_new] = object_of_symbol.try_emplace(object.symbol, static_cast<int>(module.objects.size()));
    if (is_new) {
      module.objects.push_back({.symbol = std::move(object.symbol), .bytes = std::move(object.bytes)});
    }
    module.object_of.push_back(entry->second);
  }
  return result;
}

CompiledKernels Native::compile_for_file(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                                         const CodeOptions& options) const {
  const codegen::Target target = codegen::target_of(machine);
  CompiledKernels result;
  const codegen::CodeImage image = codegen::code_generator().compile_image(
      kernels, machine,
      {.disk_cache = options.disk_cache, .own_products = options.own_products, .progress = options.progress},
      result.milliseconds);
  const std::vector<std::byte> bytes = to_bytes(image);
  const auto* const first = reinterpret_cast<const char*>(bytes.data());
  devices::Module& module = result.module;
  module.format = devices::kImageCode;
  module.target = codegen::code_identity(target);
  module.description = codegen::describe(target);
  module.product_kinds = product_kinds_of(kernels);
  module.object_of.assign(kernels.size(), 0);
  module.objects.push_back(
      {.symbol = "image", .bytes = std::make_shared<const std::vector<char>>(first, first + bytes.size())});
  return result;
}

std::shared_ptr<devices::Device> Native::device(Pool& pool, bool /*disk_cache*/) const {
  return std::make_shared<devices::CpuDevice>(pool, load_objects);
}

}  // namespace tenon::backend
#endif
