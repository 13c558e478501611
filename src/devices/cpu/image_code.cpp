#include "devices/cpu/image_code.h"

#include <algorithm>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/fail.h"
#include "devices/cpu/code_memory.h"
#include "kernel/product/product_blocked.h"
#include "native/code_image.h"
#include "native/external_symbols.h"
#include "native/linked_products.h"
#include "native/product_table.h"
#include "native/product_target.h"
#include "native/target.h"

namespace tenon::devices {
namespace {

/// What the third argument of a product's call points to.
struct ImageProducts {
  ProductTypes types;
  ProductKernels kernels;
};

void multiply_by_image(const ProductCall* call, void* scratch, const ImageProducts* products) {
  blocked_product(products->kernels, products->types, *call, scratch);
}

const void* address_of_import(const std::string& name) {
  const std::span<const codegen::ExternalSymbol> all = codegen::external_symbols();
  const auto found = std::ranges::find(all, std::string_view(name), &codegen::ExternalSymbol::name);
  if (found == all.end()) {
    fail("machine code calls `{}`, which this Tenon does not have", name);
  }
  return found->address;
}

/// The code of an image, and what its slots point to.
class LoadedImage {
 public:
  LoadedImage(const codegen::CodeImage& image, const codegen::Target& target)
      : memory_(image.code, codegen::slots_at(image), codegen::slot_count(image)) {
    int64_t slot = 0;
    for (const std::string& name : image.imports) {
      memory_.set_slot(slot++, address_of_import(name));
    }
    for (const codegen::ImageProduct& product : image.products) {
      products_.push_back({.types = product_kinds()[static_cast<size_t>(product.kind)].types, .kernels = {}});
      memory_.set_slot(slot++, reinterpret_cast<const void*>(multiply_by_image));
      memory_.set_slot(slot++, &products_.back());
    }
    memory_.seal();
    const CpuMachine& cpu = this_machine().cpu();
    const ProductCaches caches{.first = cpu.first_cache, .second = cpu.second_cache};
    for (size_t i = 0; i < products_.size(); ++i) {
      products_[i].kernels = codegen::product_table(products_[i].types, target, caches, [&](void** addresses) {
        hand_out(image.products[i], target, addresses);
      });
    }
  }

  template <class Function>
  Function function(int64_t place) const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): data pointers are no functions.
    return reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(memory_.code() + place));
  }

 private:
  /// The addresses of a kind's kernels, in the image or linked into this process.
  void hand_out(const codegen::ImageProduct& product, const codegen::Target& target, void** addresses) const {
    for (const int64_t part : product.parts) {
      function<void (*)(void**)>(part)(addresses);
    }
    if (!product.parts.empty()) return;
    const ProductTypes& types = product_kinds()[static_cast<size_t>(product.kind)].types;
    const codegen::LinkedProducts* const linked =
        codegen::find_linked_products(types, codegen::product_target(types, target));
    if (linked == nullptr) {
      fail("machine code calls products of kind {} for {}, which this Tenon does not have", product.kind,
           codegen::describe(target));
    }
    linked->hand_out()(addresses);
  }

  CodeMemory memory_;
  std::deque<ImageProducts> products_;  // which never move
};

}  // namespace

std::shared_ptr<const HostCode> image_code(const Module& module) {
  TENON_CHECK(module.objects.size() == 1, "{} images in one module", module.objects.size());
  const codegen::CodeImage image = codegen::image_from_bytes(std::as_bytes(std::span(*module.objects[0].bytes)));
  const codegen::Target target = codegen::target_of(image.machine);
  if (!codegen::runs_on(target, codegen::host_target())) {
    fail("this code is for {}, and this machine is {}", codegen::describe(target),
         codegen::describe(codegen::host_target()));
  }
  if (image.kernels.size() != module.object_of.size()) {
    fail("code of {} kernels, for {}", image.kernels.size(), module.object_of.size());
  }
  if (image.kernels.empty()) {
    return std::make_shared<HostCode>(std::vector<KernelEntry>());
  }
  const auto loaded = std::make_shared<LoadedImage>(image, target);
  std::vector<KernelFunction> functions;
  for (const int64_t place : image.kernels) {
    functions.push_back(loaded->function<KernelFunction>(place));
  }
  return std::make_shared<HostCode>(std::move(functions), loaded);
}

}  // namespace tenon::devices
