// The insides of a compiled graph as text: what the command line shows beyond Executable::explain().
#pragma once

#include <cstdint>
#include <string>

#include "tenon/compile.h"

namespace tenon {

/// The loop IR of the kernels in one step; steps count from 1, as in Executable::explain(). Of a loop or a
/// conditional, those of its bodies. Error: there is no such step, or it has no kernel.
std::string step_loops(const Graph& graph, int64_t step, const CompileOptions& options = {});

/// The same as assembly for CompileOptions::machine. Error also in a build without LLVM.
std::string step_assembly(const Graph& graph, int64_t step, const CompileOptions& options = {});

/// What this build makes of kernels, in words.
struct BuildReport {
  std::string code;    // "native code by LLVM", or "loop interpreter"
  std::string target;  // "x86-64-v4, 512-bit vectors, fma"; empty without native code
  std::string cache;   // "on: /home/ada/.cache/tenon", or "off: " and why
};
BuildReport build_report();

}  // namespace tenon
