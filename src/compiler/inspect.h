// A lowered graph as text: what the command line shows beyond Executable::explain().
#pragma once

#include <cstdint>
#include <string>

#include "compiler/lowered.h"

namespace tenon::compiler {

/// The loop IR of the kernels in one step; steps count from 1, as in Executable::explain(). Of a loop or a
/// conditional, those of its bodies. Error: there is no such step, or it has no kernel.
std::string step_loops(const Lowered& lowered, int64_t step);

/// The same as assembly for the machine that it was lowered for. Error also in a build without LLVM.
std::string step_assembly(const Lowered& lowered, int64_t step);

/// What this build makes of kernels, in words.
struct BuildReport {
  std::string code;          // "native code by LLVM", or "loop interpreter"
  std::string target;        // "x86-64-v4, 512-bit vectors, fma"; empty without native code
  std::string cache;         // "on: /home/ada/.cache/tenon", or "off: " and why
  std::string problem = {};  // why nothing can be compiled; empty where it can
};
BuildReport build_report();

}  // namespace tenon::compiler
