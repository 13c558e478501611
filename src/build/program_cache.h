// Programs of models that were compiled on this machine before, as files under the user's cache directory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "saved/saved_program.h"
#include "tenon/build_program.h"

namespace tenon {

/// What tells programs apart: all that was added, and this build of Tenon.
class ProgramKey {
 public:
  ProgramKey();
  void add(std::string_view text);
  /// All that decides what is compiled, the machine among it.
  void add(const CompileOptions& options);
  std::string hex() const;  ///< 32 digits

 private:
  std::string text_;
};

/// A file as the system knows it (device, number, size, time of the last change), which differs after any change.
/// Empty: there is no such file, or it was changed so lately that another change might not be told apart.
std::string file_identity(const std::string& path);

/// Files of one directory, which is private to the user, one for each key. Together they stay below a limit; those not
/// used for longest go. Trouble with files is never an error: what cannot be read is not there, what cannot be written
/// is not kept. Of a build without LLVM or without a build id it is off.
class ProgramCache {
 public:
  static constexpr int64_t kByteLimit = int64_t{2} << 30;

  /// An empty directory: the one where machine code is kept.
  explicit ProgramCache(bool enabled, const std::string& directory = {}, int64_t byte_limit = kByteLimit);
  ~ProgramCache();
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;

  bool enabled() const;
  /// The file of a key; no path: there is none.
  struct Found {
    std::string path;
    /// Nobody used it since this machine was started. It was written without waiting for the disk, so parts of it may
    /// never have got there, which checksums show.
    bool may_be_torn = false;
  };
  Found find(const ProgramKey& key) const;
  /// It was loaded: it counts as used now.
  void use(const ProgramKey& key) const;
  /// Of a file that cannot be loaded.
  void remove(const ProgramKey& key) const;
  void store(const ProgramKey& key, const saved::SavedProgram& program) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A program that was compiled here, and what there is to be written of it: the same memory.
struct CompiledProgram {
  Executable executable;
  std::shared_ptr<const saved::SavedProgram> saved;
};

/// As compile(), for CompileOptions::machine, which must be able to run here; BuildOptions::machines are not looked at.
/// What is written of it only this build of Tenon can load.
CompiledProgram compile_to_keep(Graph&& graph, const BuildOptions& options);

}  // namespace tenon
