// `tenon partition --mesh` and `--ranks`: what a model in parts takes on each rank, of machines that need not be there.
#pragma once

#include "arguments.h"

namespace tenon::cli {

inline constexpr Option kMeshRanks{"--ranks", "N",
                                   "the meshes `data=A,model=B` of so many ranks, with what each takes, best first"};
inline constexpr Option kMeasure{
    "--measure", "FILE.json",
    "with `mpirun` and --mesh: measure what sending along each axis takes, write it, and estimate with it", false,
    true};

/// Whether `--mesh` or `--ranks` is there.
bool is_about_mesh(const Arguments& arguments);
/// Gives the exit status.
int partition_mesh(const Arguments& arguments);

}  // namespace tenon::cli
