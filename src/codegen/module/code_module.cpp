#include "native/code_module.h"

#include "codegen/llvm_code_generator.h"

namespace tenon::codegen {
namespace {

std::span<const LinkedProducts>& products_of_host() {
  static std::span<const LinkedProducts> products;
  return products;
}

}  // namespace

/// The module has no products of its own: it takes those of the program that opened it.
std::span<const LinkedProducts> linked_products() { return products_of_host(); }

}  // namespace tenon::codegen

extern "C" __attribute__((visibility("default"))) tenon::codegen::CodeGenerator* tenon_code_generator(
    const tenon::codegen::ModuleHost* host);

/// A second program in this process, such as a library beside a Python module, gets what the first one got.
tenon::codegen::CodeGenerator* tenon_code_generator(const tenon::codegen::ModuleHost* host) {
  if (host->interface != tenon::codegen::interface_of_code_generator()) return nullptr;
  static const bool is_first = [&] {
    tenon::codegen::products_of_host() = host->products;
    return true;
  }();
  return is_first ? &tenon::codegen::llvm_code_generator() : nullptr;
}
