// A lowered graph as text: what the command line shows beyond Executable::explain().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/lowered.h"

namespace tenon::compiler {

/// The loop IR of the kernels in one step; steps count from 1, as in Executable::explain(). Of a loop or a
/// conditional, those of its bodies. Error: there is no such step, or it has no kernel.
std::string step_loops(const Lowered& lowered, int64_t step);

/// The same as assembly for the target of this name (codegen/target/target.h). Error also for an unknown target, and in
/// a build without LLVM. What is shown for a target that is not this machine is lowered with options_for() it.
std::string step_assembly(const Lowered& lowered, int64_t step, std::string_view target);

/// The options, with the caches of a target where they are not given. Errors as those of step_assembly().
CompileOptions options_for(std::string_view target, CompileOptions options);

/// What this build makes of kernels, in words.
struct BuildReport {
  std::string code;    // "native code by LLVM", or "loop interpreter"
  std::string target;  // "x86-64-v4, 512-bit vectors, fma"; empty without native code
  std::string cache;   // "on: /home/ada/.cache/tenon", or "off: " and why
};
BuildReport build_report();

}  // namespace tenon::compiler
