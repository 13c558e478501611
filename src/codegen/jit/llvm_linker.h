// Objects in this process: placed in executable memory and bound to the symbols that they were given.
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>
#include <vector>

#include "native/external_symbol.h"

namespace tenon::codegen {

/// Code lives as long as the linker. Safe to use from many threads.
class Linker {
 public:
  /// With `sanitizer`, the runtime of the address sanitizer is visible beside `symbols`, where the process has it.
  Linker(const std::vector<ExternalSymbol>& symbols, bool sanitizer);
  ~Linker();
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;

  /// The address of `name`, which `object` defines and no object before it did. An undefined symbol is an InternalError
  /// that names it and leaves no trace of the object.
  void* link(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& name);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::codegen
