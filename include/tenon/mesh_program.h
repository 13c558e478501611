// Programs for the ranks of a mesh in files: compiled once for all ranks, run by each without a compiler.
#pragma once

#include <string>
#include <string_view>

#include "tenon/build_program.h"
#include "tenon/mesh.h"

namespace tenon {

/// Compiles the graph for every rank of the mesh `axes` ("data=2,model=2") and writes one file. No rank need be there.
/// Values of MeshOptions are in the file, in the parts in which ranks have them. How graphs are compiled is for
/// `build` to say, not for MeshOptions::compile and threads. Error: those of compile() on a mesh and of
/// build_program().
void build_mesh_program(const Graph& graph, std::string_view axes, const std::string& path,
                        const MeshOptions& options = {}, const BuildOptions& build = {});

struct MeshFileOptions {
  bool verify = true;  ///< hold the rank's parts of weights against their checksums
  int threads = 0;     ///< of this rank; 0: its share of the machine's cores
};

/// This rank's program of such a file; all ranks call it together. Of the weights it has its parts, where the file is
/// mapped: ranks of one machine share what they have in common. What is said of files at load_program() holds here,
/// too. Error, on every rank: a file for another mesh, or for one process; a rank loads another file.
MeshExecutable load_mesh_program(const std::string& path, const Mesh& mesh, const MeshFileOptions& options = {});

}  // namespace tenon
