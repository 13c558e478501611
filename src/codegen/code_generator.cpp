#include "native/code_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "codegen/compile_image.h"
#include "codegen/compile_kernels.h"
#include "codegen/compile_ptx.h"
#include "codegen/llvm_code_generator.h"
#include "codegen/products/product_library.h"
#include "disk/build_id.h"
#include "disk/object_cache.h"
#include "native/code_module.h"

namespace tenon::codegen {
namespace {

/// One of each target for the process, so that equal kernels of different graphs are compiled once; they live as long
/// as any code.
class Jits {
 public:
  std::shared_ptr<Jit> of(const Target& target, bool disk_cache) {
    const std::scoped_lock lock(mutex_);
    for (const Shared& each : all_) {
      if (each.disk_cache == disk_cache && each.jit->target() == target) return each.jit;
    }
    JitOptions options = kernel_jit_options();
    options.target = target;
    options.cache.enabled = disk_cache;
    return all_.emplace_back(disk_cache, std::make_shared<Jit>(std::move(options))).jit;
  }

  /// One for code of a target in words, by preference one that has all of these functions; none where there is none.
  std::shared_ptr<Jit> for_objects(const std::string& target, std::span<const FunctionObject> objects) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Jit> found;
    for (const Shared& each : all_) {
      if (code_identity(each.jit->target()) != target) continue;
      const bool has_all = std::ranges::all_of(
          objects, [&](const FunctionObject& object) { return each.jit->find(object.symbol) != nullptr; });
      if (has_all) return each.jit;
      found = each.jit;
    }
    return found;
  }

 private:
  struct Shared {
    bool disk_cache;
    std::shared_ptr<Jit> jit;
  };
  std::mutex mutex_;
  std::vector<Shared> all_;  // two for each target at most
};

/// PTX on disk, by the kernel, the GPU's architecture and this build.
class KeptPtx {
 public:
  KeptPtx() : build_(disk::build_id()), cache_({.enabled = !build_.empty(), .directory = {}}) {}

  std::string text(const loops::Kernel& kernel, const Machine& machine, bool in_device_memory) {
    if (!cache_.enabled()) return compile_ptx(kernel, machine, in_device_memory);
    const disk::ContentHash key = disk::content_hash(fmt::format(
        "PTX\n{}\n{}\n{}\n{}", build_, machine.gpu().architecture, in_device_memory, loops::to_string(kernel, true)));
    if (const auto kept = cache_.load(key)) return {kept->begin(), kept->end()};
    std::string made = compile_ptx(kernel, machine, in_device_memory);
    cache_.store(key, made);
    return made;
  }

 private:
  const std::string build_;
  disk::ObjectCache cache_;
};

class LlvmCodeGenerator final : public CodeGenerator {
 public:
  std::vector<FunctionObject> compile(Kernels kernels, const Target& target, bool disk_cache,
                                      std::vector<double>& milliseconds) override {
    std::vector<FunctionObject> objects;
    for (Jit::Function& function : make_kernels(kernels, *jits_.of(target, disk_cache), {}, &milliseconds)) {
      objects.push_back({.symbol = std::move(function.symbol), .bytes = std::move(function.object)});
    }
    return objects;
  }

  std::optional<LinkedFunctions> link(const std::string& target, std::span<const FunctionObject> objects,
                                      std::span<const ProductTypes> products) override {
    std::shared_ptr<Jit> jit = jits_.for_objects(target, objects);
    if (!jit && target == code_identity(host_target())) jit = jits_.of(host_target(), true);
    if (!jit) return std::nullopt;
    for (const ProductTypes& types : products) {
      prepare_products(types, jit->cache().enabled());
    }
    LinkedFunctions linked;
    for (const FunctionObject& object : objects) {
      linked.functions.push_back(reinterpret_cast<KernelFunction>(jit->link(object.symbol, *object.bytes)));
    }
    linked.keep_alive = std::move(jit);
    return linked;
  }

  CodeImage compile_image(Kernels kernels, const Machine& machine, const ImageOptions& options,
                          std::vector<double>& milliseconds) override {
    return codegen::compile_image(kernels, machine, options, &milliseconds);
  }

  std::string assembly(const loops::Kernel& kernel, const Target& target) override {
    return emit_assembly(kernel_request(kernel, target), target);
  }

  std::string ptx(const loops::Kernel& kernel, const Machine& machine, bool in_device_memory,
                  bool disk_cache) override {
    return disk_cache ? kept_ptx_.text(kernel, machine, in_device_memory)
                      : compile_ptx(kernel, machine, in_device_memory);
  }

 private:
  Jits jits_;
  KeptPtx kept_ptx_;
};

}  // namespace

CodeGenerator& llvm_code_generator() {
  static LlvmCodeGenerator generator;
  return generator;
}

uint64_t interface_of_code_generator() { return module_interface(TENON_VERSION); }

CodeGenerator& code_generator() { return llvm_code_generator(); }

std::string code_generator_file() { return {}; }

}  // namespace tenon::codegen
