#include "codegen/compile_image.h"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/fail.h"
#include "codegen/compile_kernels.h"
#include "codegen/link/link_image.h"
#include "codegen/products/product_library.h"
#include "kernel/loop/loop_walk.h"
#include "native/external_symbols.h"
#include "native/linked_products.h"
#include "native/product_target.h"

namespace tenon::codegen {
namespace {

/// All that code may call. Products get the kernels of their image as a third argument.
std::vector<ImageImport> known_imports() {
  std::vector<ImageImport> known;
  for (const ExternalSymbol& symbol : external_symbols()) {
    known.push_back({.name = std::string(symbol.name), .has_context = false});
  }
  for (const ProductKind& kind : product_kinds()) {
    known.push_back({.name = std::string(kind.symbol), .has_context = true});
  }
  return known;
}

int kind_of(const auto& projection, const auto& wanted) {
  const auto kind = std::ranges::find(product_kinds(), wanted, projection);
  TENON_CHECK(kind != product_kinds().end(), "a product that there is no code for");
  return static_cast<int>(kind - product_kinds().begin());
}

std::set<int> kinds_in(std::span<const loops::Kernel* const> kernels) {
  std::set<int> kinds;
  for (const loops::Kernel* kernel : kernels) {
    loops::for_each_product(*kernel, [&](const loops::Product& product) {
      kinds.insert(kind_of(&ProductKind::types, types_of(*kernel, product)));
    });
  }
  return kinds;
}

/// Has a request say when it is begun.
class Progress {
 public:
  Progress(std::vector<Jit::Request>& requests, const ImageOptions& options)
      : count_(requests.size()), report_(options.progress) {
    if (!report_) return;
    for (Jit::Request& request : requests) {
      request.emit = [this, emit = std::move(request.emit)](llvm::LLVMContext& context) {
        {
          const std::lock_guard lock(mutex_);
          report_(++begun_, count_);
        }
        return emit(context);
      };
    }
  }

 private:
  std::mutex mutex_;
  size_t begun_ = 0;
  size_t count_;
  std::function<void(size_t, size_t)> report_;
};

}  // namespace

CodeImage compile_image(std::span<const loops::Kernel* const> kernels, const Machine& machine,
                        const ImageOptions& options, std::vector<double>* milliseconds) {
  JitOptions jit_options = kernel_jit_options();
  jit_options.target = target_of(machine);
  jit_options.cache.enabled = options.disk_cache;
  jit_options.links = false;
  jit_options.sanitize_address = false;  // its runtime is not in every process
  Jit jit(std::move(jit_options));

  std::vector<Jit::Request> requests;
  std::map<int, std::vector<size_t>> parts;  // of each kind of products, among the requests
  for (const loops::Kernel* kernel : kernels) {
    requests.push_back(kernel_request(*kernel, jit.target()));
  }
  for (const int kind : kinds_in(kernels)) {
    const ProductTypes& types = product_kinds()[static_cast<size_t>(kind)].types;
    parts[kind];
    if (!options.own_products && find_linked_products(types, product_target(types, jit.target())) != nullptr) {
      continue;
    }
    for (Jit::Request& request : product_requests(types, jit.target())) {
      parts[kind].push_back(requests.size());
      requests.push_back(std::move(request));
    }
  }
  const Progress progress(requests, options);
  const std::vector<Jit::Function> functions = jit.make(requests, milliseconds);
  if (milliseconds != nullptr) milliseconds->resize(kernels.size());

  std::vector<ImageObject> objects;
  std::map<std::string, size_t> object_of;
  for (const Jit::Function& function : functions) {
    if (object_of.emplace(function.symbol, objects.size()).second) {
      objects.push_back({.bytes = *function.object, .symbol = function.symbol});
    }
  }
  LinkedImage linked = link_image(objects, known_imports());
  const auto place_of = [&](size_t request) { return linked.entries[object_of.at(functions[request].symbol)]; };

  CodeImage image{.machine = machine, .code = std::move(linked.code), .imports = {}, .products = {}, .kernels = {}};
  for (size_t i = 0; i < kernels.size(); ++i) {
    image.kernels.push_back(place_of(i));
  }
  for (const ImageImport& import : linked.imports) {
    if (!import.has_context) {
      image.imports.push_back(import.name);
      continue;
    }
    ImageProduct product{.kind = kind_of(&ProductKind::symbol, import.name), .parts = {}};
    std::ranges::transform(parts.at(product.kind), std::back_inserter(product.parts), place_of);
    image.products.push_back(std::move(product));
  }
  return image;
}

}  // namespace tenon::codegen
