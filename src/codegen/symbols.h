// The functions outside of emitted code that emitted code may call.
#pragma once

#include <span>
#include <string_view>

namespace tenon::codegen {

struct ExternalSymbol {
  std::string_view name;
  void* address = nullptr;
};

/// All of them, sorted by name: our own functions over lanes, and what LLVM's lowering of an instruction may call on a
/// target that lacks it. A JIT defines these and nothing else.
std::span<const ExternalSymbol> external_symbols();

}  // namespace tenon::codegen
