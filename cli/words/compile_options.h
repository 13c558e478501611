// Options of how a model is compiled, which several verbs share.
#pragma once

#include "cli/words/arguments.h"
#include "tenon/compile.h"

namespace tenon::cli {

inline constexpr Option kNoPipelines{"--no-pipelines", "", "no steps tile by tile: each ends before the next begins"};
inline constexpr Option kPipelineRows{
    "--pipeline-rows", "N", "tiles of N rows of the last kernel's grid wherever that can be, instead of where it pays"};
inline constexpr Option kNoWinograd{
    "--no-winograd", "",
    "convolutions of 3x3 as sums: pixels that differ by many orders of magnitude keep their digits"};
inline constexpr Option kNoCacheOption{"--no-cache", "",
                                       "neither read nor write machine code and programs that are kept on disk"};
inline constexpr Option kWeights{"--weights", "FORMAT",
                                 "keep the matrices of products as bf16, f16, i8 or i4: less memory, rounded"};

inline constexpr Option kPrecision{"--precision", "tf32|bf16|f16",
                                   "round what products and convolutions multiply; sums stay f32"};
inline constexpr Option kDevice{"--device", "cpu|gpu", "where it runs; gpu: the first NVIDIA GPU (default cpu)"};

/// What those say; with `--threads N` kernels are cut for as many cores as will run them. Error: both of the first two;
/// a device that there is not.
void take_compile_options(const Arguments& arguments, CompileOptions& options);

}  // namespace tenon::cli
