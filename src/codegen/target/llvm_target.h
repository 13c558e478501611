// Targets as LLVM wants them.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "native/target.h"

namespace tenon::codegen {

/// A code generator for `target`, for one thread at a time. It never fuses a multiply and an add on its own.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& target);

/// Make `module` one for `target`: triple, data layout, and on every function the width of vectors that the target
/// prefers. To be called before any code is emitted, where the emitter asks for sizes or alignments; Jit calls it
/// again.
void apply_target(llvm::Module& module, const Target& target, const llvm::TargetMachine& machine);

}  // namespace tenon::codegen
