// A function outside of emitted code that emitted code may call.
#pragma once

#include <string_view>

namespace tenon::codegen {

struct ExternalSymbol {
  std::string_view name;
  void* address = nullptr;
};

}  // namespace tenon::codegen
