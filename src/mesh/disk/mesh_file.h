// Programs for the ranks of a mesh as files: written once for all ranks, each of which reads what it runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mesh/disk/mesh_section.h"
#include "mesh/run/mesh_program.h"
#include "mesh/split/shard.h"
#include "saved/checked_file.h"
#include "tenon/build_program.h"

namespace tenon::mesh {

struct MeshBuild {
  MeshShape mesh;
  Sharding sharding;
  ShardOptions shard = {};
  std::map<std::string, Array, std::less<>> values = {};  // of inputs: weights, which the file has in ranks' parts
  BuildOptions build = {};
};

/// Compiles what each rank runs, equal graphs of ranks once, and writes one file. Weights are there once, cut as ranks
/// have them. Error: what shard() and build_program() refuse; a value of no input.
void write_mesh_program(const Graph& graph, const std::string& path, const MeshBuild& build);

/// What one rank runs, from a file.
struct LoadedRank {
  RankPlan plan;
  std::vector<SegmentRun> runs;
  std::vector<std::optional<Array>> values;  // the rank's part of each input whose value is in the file
  Bindings sizes;                            // that these bind
  std::string shard;
};

/// A file of write_mesh_program().
class MeshFile {
 public:
  /// Error: a file that is none, or is damaged; a program of one process, which says so.
  explicit MeshFile(const std::string& path);

  const MeshShape& mesh() const { return mesh_; }
  const ProgramFileInfo& info() const { return info_; }

  /// The rank's graphs and its parts of weights, which stay mapped: nothing of other ranks is read. Where `verify`,
  /// weights are held against their checksums.
  LoadedRank load(int rank, int threads, bool verify = true) const;

 private:
  saved::CheckedFile file_;
  ProgramFileInfo info_;
  MeshShape mesh_;
  MeshSection section_;
};

}  // namespace tenon::mesh
