// Compiled programs in files: written once (tenon/build_program.h, `tenon build`), run anywhere without a compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/bindings.h"
#include "tenon/constraint.h"
#include "tenon/executable.h"
#include "tenon/extent.h"
#include "tenon/machine.h"
#include "tenon/shape.h"

namespace tenon {

struct ProgramFileOptions {
  /// Hold constants against their checksums before anything runs. All else is always checked. Off, a file is ready
  /// before its weights were read, and a damaged one may give wrong numbers.
  bool verify = true;
  int64_t memory_budget = kDefaultMemoryBudget;  ///< Executable::set_memory_budget()
};

/// The program of a file, as compile() would give it: names, errors, explain(), counters. Of those that the file has
/// for several machines it is the one that fits this one best. Constants are used where the file is mapped: not copied,
/// and shared with all processes that have the file mapped. The file may be replaced (renamed over) or removed while it
/// is in use, but not written to in place.
///
/// The machine code of a file is trusted, as that of a shared library is: load no file that you would not run. What is
/// cut, damaged or of another version is one Error that names the file; so is a file without a program for this
/// machine, which says which there are.
Executable load_program(const std::string& path, const ProgramFileOptions& options = {});

/// The same of a file's bytes in memory, which begin at a multiple of 64 and stay as they are while `owner` lives;
/// without one, for as long as the process. Errors call them `name`.
Executable load_program(std::span<const std::byte> bytes, std::shared_ptr<void> owner,
                        const ProgramFileOptions& options = {}, const std::string& name = "program");

/// An input of a program.
struct ProgramFileInput {
  std::string name;
  Shape shape;
  std::vector<std::string> gives = {};  ///< names whose sizes are its elements (CompileOptions::sizes_from)
  /// Of integers that are positions of something, such as words of a vocabulary: how many positions there are.
  std::vector<Extent> limits = {};  // one, or none

  friend bool operator==(const ProgramFileInput&, const ProgramFileInput&) = default;
};

struct ProgramFileOutput {
  std::string name;
  Shape shape;
  int aliases = -1;  ///< the input whose memory it takes over where that is given away; -1: none

  friend bool operator==(const ProgramFileOutput&, const ProgramFileOutput&) = default;
};

/// A machine that a file has a program for.
struct ProgramFileMachine {
  Machine machine;
  std::string code;        ///< "x86-64-v4, 512-bit vectors, fma", or "loop interpreter"
  bool runs_here = false;  ///< the processor of this process has all of its instructions

  friend bool operator==(const ProgramFileMachine&, const ProgramFileMachine&) = default;
};

/// A part of a file.
struct ProgramFileSection {
  std::string kind;  ///< "info", "program", "code", "reasons", "constant list", "constants"
  int machine = -1;  ///< of ProgramFileInfo::machines; -1: of all of them
  int64_t offset = 0;
  int64_t bytes = 0;
  std::string checksum;   ///< 32 hexadecimal digits
  bool is_intact = true;  ///< unless somebody looked and it is not

  friend bool operator==(const ProgramFileSection&, const ProgramFileSection&) = default;
};

/// What a file says of itself.
struct ProgramFileInfo {
  std::string name;
  std::string tenon_version;  ///< that wrote it
  int format_version = 0;
  int64_t bytes = 0;
  std::vector<ProgramFileInput> inputs;
  std::vector<ProgramFileOutput> outputs;
  std::vector<std::string> axes;                ///< all names that bindings may have
  std::vector<Constraint> constraints;          ///< on them
  Bindings usual;                               ///< sizes that the model is usually run at
  std::map<std::string, std::string> metadata;  ///< of the model, and of the build: `source`, `options`, ...
  std::vector<ProgramFileMachine> machines;
  std::vector<ProgramFileSection> sections;
};

/// Reads what a file says of itself; loads no code. Where `options` say to verify, the checksums of all sections are
/// looked at, constants included. Error: a file that is none, or whose own description is damaged.
ProgramFileInfo inspect_program(const std::string& path, const ProgramFileOptions& options = {});

/// Whether a file begins as program files do. False where there is none.
bool is_program_file(const std::string& path);

}  // namespace tenon
