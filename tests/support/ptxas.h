// NVIDIA's assembler, where the machine has it.
#pragma once

#include <string>

#include "devices/module.h"

namespace tenon {

/// Whether a program `ptxas` is found.
bool has_ptxas();
/// What it says against the code of a module; nothing where it takes all of it.
std::string assemble(const devices::Module& module);

}  // namespace tenon
