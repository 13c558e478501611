// The program of a model that this machine compiled before: found by the model and by how it is compiled.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "build/program_cache.h"
#include "saved/saved_program.h"
#include "tenon/build_program.h"

namespace tenon {

/// What a program is found by. Of a file its path and what the system says of it (file_identity()); else a name that
/// this build of Tenon gives a meaning, such as that of a built-in model.
struct KeptModelKey {
  std::string model;
  bool is_file = true;
  std::vector<std::string> more = {};  ///< texts that decide what is compiled, beside the options
};

/// A program that was kept, loaded.
struct KeptExecutable {
  ProgramFileInfo info;
  Executable executable;
};

/// The place of one program in the cache. It is switched off (nothing is found and nothing written) by
/// CompileOptions::disk_cache, for a GPU, for a file that is not there or was changed a moment ago, and where somebody
/// watches the compile (CompileOptions::report and on_pass). Trouble with the cache is never an error.
class KeptProgram {
 public:
  KeptProgram(const KeptModelKey& model, const CompileOptions& options);

  bool enabled() const { return cache_->enabled(); }

  /// The program, if there is one, of the very files that the model is now. A damaged one is removed. Constants are
  /// held against their checksums once, when it is first opened after the machine was started.
  std::optional<KeptExecutable> open() const;

  /// Compile, and remember what is to be written, if this is on. `build.compile` are the options that this was made
  /// with, or follow from those and the model. `files` are those beside the model's own that belong to it.
  Executable compile(Graph&& graph, BuildOptions build, const std::vector<std::filesystem::path>& files);

  /// Write what was compiled, now or on another thread (base/background.h), and let go of it. A process that ends waits
  /// for what was asked for; in the child of a fork nothing is written in the background.
  void keep();
  void keep_in_background();

 private:
  ProgramKey key_;
  std::shared_ptr<const ProgramCache> cache_;
  std::shared_ptr<const saved::SavedProgram> saved_;
};

/// Wait until all that keep_in_background() was asked for is written. Not for the child of a fork.
void wait_for_kept_programs();

}  // namespace tenon
