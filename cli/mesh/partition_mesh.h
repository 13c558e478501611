// `tenon partition --mesh` and `--ranks`: what a model in parts takes on each rank, of machines that need not be there.
#pragma once

#include "cli/words/arguments.h"

namespace tenon::cli {

inline constexpr Option kMeshRanks{
    "--ranks", "N",
    "the meshes `data=A,model=B` of so many ranks, with what each takes, best first; with "
    "--run: run the plan's parts on so many ranks, which mpirun started, or threads"};
inline constexpr Option kMeasure{
    "--measure", "FILE.json",
    "with `mpirun` and --mesh: measure what sending along each axis takes, write it, and estimate with it", false,
    true};

/// Whether `--mesh` or `--ranks` is there.
bool is_about_mesh(const Arguments& arguments);
/// Gives the exit status.
int partition_mesh(const Arguments& arguments);

}  // namespace tenon::cli
