// The code generator by LLVM.
#pragma once

#include <cstdint>

#include "native/code_generator.h"

namespace tenon::codegen {

/// One for the process; never destroyed.
CodeGenerator& llvm_code_generator();

/// The module_interface() that it was compiled with (native/code_module.h).
uint64_t interface_of_code_generator();

}  // namespace tenon::codegen
