// The shared object that holds a code generator, and the program that opens it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "native/code_generator.h"
#include "native/linked_products.h"

namespace tenon::codegen {

/// What the program gives to the module, and what it is held against: both must come of one build.
struct ModuleHost {
  uint64_t interface = 0;                    ///< module_interface() of the program
  std::span<const LinkedProducts> products;  ///< of the program, which must stay loaded
};

/// The function that a module exports. Null: it was built with another interface. The code generator lives as long as
/// the process.
using ModuleEntry = CodeGenerator* (*)(const ModuleHost* host);
inline constexpr const char* kModuleEntry = "tenon_code_generator";

/// Differs where the types of the interface differ, as far as their sizes tell, or the version of Tenon or of the
/// compiler.
constexpr uint64_t module_interface(std::string_view version) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (const std::string_view text : {version, std::string_view(__VERSION__)}) {
    for (const char each : text)
      add(static_cast<unsigned char>(each));
  }
  for (const size_t size : {sizeof(loops::Kernel), sizeof(loops::Phase), sizeof(loops::Axis), sizeof(loops::Value),
                            sizeof(loops::Statement), sizeof(loops::Product), sizeof(Machine), sizeof(Target),
                            sizeof(CodeImage), sizeof(ImageOptions), sizeof(LinkedProducts), sizeof(ProductTypes)}) {
    add(size);
  }
  return hash;
}

}  // namespace tenon::codegen
