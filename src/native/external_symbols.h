// The functions outside of emitted code that emitted arithmetic may call.
#pragma once

#include <span>

#include "native/external_symbol.h"

namespace tenon::codegen {

/// All of them, sorted by name: our own functions over lanes, and what LLVM's lowering of an instruction may call on a
/// target that lacks it.
std::span<const ExternalSymbol> external_symbols();

}  // namespace tenon::codegen
