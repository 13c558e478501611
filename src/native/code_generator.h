// What makes machine code of kernels, as those see it who know nothing of LLVM. `codegen/` is the one there is.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/abi.h"
#include "kernel/loop/loop.h"
#include "kernel/product/product.h"
#include "native/code_image.h"
#include "native/target.h"
#include "tenon/machine.h"

namespace tenon::codegen {

/// A relocatable object file with one function.
struct FunctionObject {
  std::string symbol;  ///< equal symbols are the same code
  std::shared_ptr<const std::vector<char>> bytes;
};

/// Functions of this process, for as long as `keep_alive`.
struct LinkedFunctions {
  std::vector<KernelFunction> functions;
  std::shared_ptr<void> keep_alive;
};

struct ImageOptions {
  bool disk_cache = true;    // keep objects under the user's cache directory
  bool own_products = true;  // off: those that this build has linked in (native/linked_products.h) stay out of it
  /// Called, one at a time, when so many of all functions were begun; those that come from the cache are not counted.
  std::function<void(size_t begun, size_t of)> progress = {};
};

using Kernels = std::span<const loops::Kernel* const>;

/// Stateless but for caches; safe to use from many threads. `milliseconds` gets what each kernel took of a processor:
/// 0 where its code was there already.
class CodeGenerator {
 public:
  CodeGenerator() = default;
  CodeGenerator(const CodeGenerator&) = delete;
  CodeGenerator& operator=(const CodeGenerator&) = delete;
  virtual ~CodeGenerator() = default;

  /// The objects of `kernels`, in order; kernels of equal canonical text are compiled once a process. They are linked
  /// into this process, too, which must be one that runs code for `target`. With `disk_cache` objects are kept under
  /// the user's cache directory.
  virtual std::vector<FunctionObject> compile(Kernels kernels, const Target& target, bool disk_cache,
                                              std::vector<double>& milliseconds) = 0;

  /// The functions of objects that were made for the target of this identity (code_identity()), with the products that
  /// they call made ready. Nothing, where that is neither a target of compile() so far nor this machine.
  virtual std::optional<LinkedFunctions> link(const std::string& target, std::span<const FunctionObject> objects,
                                              std::span<const ProductTypes> products) = 0;

  /// One image (native/code_image.h) for any machine that there is an emitter for: kernels in order, equal ones once,
  /// and the products that they call. It needs nothing of the process that runs it but external_symbols().
  virtual CodeImage compile_image(Kernels kernels, const Machine& machine, const ImageOptions& options,
                                  std::vector<double>& milliseconds) = 0;

  /// The code of a kernel for people, for any target.
  virtual std::string assembly(const loops::Kernel& kernel, const Target& target) = 0;

  /// The PTX of a kernel for a GPU: an entry for each phase. With scratch in memory of the device it is empty where
  /// scratch always fits what a block shares. Error: the machine is no GPU, or the kernel calls functions that only
  /// CPUs have. With `disk_cache` it is kept under the user's cache directory.
  virtual std::string ptx(const loops::Kernel& kernel, const Machine& machine, bool in_device_memory = false,
                          bool disk_cache = false) = 0;
};

/// That of this process. It is defined by the library that a program links: `tenon_codegen`, which brings LLVM with it,
/// or `tenon_codegen_loader`, which opens a shared object at the first call. Error: that cannot be opened.
CodeGenerator& code_generator();

/// The file that it is, or will be, loaded from; empty where this program links it, or where there is none.
std::string code_generator_file();

}  // namespace tenon::codegen
