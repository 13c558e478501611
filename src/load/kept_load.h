// The program that load() makes of a model file, kept for later processes.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "build/kept_program.h"
#include "tenon/load.h"

namespace tenon {

/// All that load() gets from a model file.
struct KeptModelFile {
  OnnxSignature signature;
  std::map<std::string, std::vector<std::string>> sizes;  // inputs whose elements are sizes, and the names of these
  Executable executable;
};

/// The place of the program in the cache of programs. Nothing is kept of a model that is given values, or whose caller
/// asks for more of its import than the graph.
class KeptLoad {
 public:
  KeptLoad(const std::filesystem::path& file, const LoadOptions& options);

  std::optional<KeptModelFile> open() const;

  /// Compile a graph that is good for all values and sizes, and remember what is to be kept of it. `options` are those
  /// of the constructor, with the names of `sizes_from`; `files` are those beside the model's own that it was read
  /// from.
  Executable compile(Graph&& graph, const CompileOptions& options, const OnnxSignature& signature,
                     const std::vector<std::filesystem::path>& files);
  /// Write it, on another thread.
  void keep();

 private:
  LoadOptions options_;
  std::optional<KeptProgram> program_;  // where nothing stands against it
};

}  // namespace tenon
