// Programs that were built before, as what the command runs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/models/load_graph.h"
#include "cli/words/arguments.h"
#include "tenon/program_file.h"

namespace tenon::cli {

struct ProgramFile {
  ProgramFileInfo info;
  Executable executable;
  double load_us = 0;

  /// Of each output, the input that it takes over, or -1.
  std::vector<int> aliases() const;
  /// What runs its kernels, for people.
  std::string code() const { return executable.capabilities().code; }
};

/// Error: a file that is no program, or has none for this machine.
ProgramFile open_program(const std::string& path);

/// Error: an option that says how a model is compiled, which was decided when the program was built.
void require_no_compile_options(const Arguments& arguments);

/// What `tenon build` writes into a file of where its program comes from, so that it can be held against that.
std::map<std::string, std::string> source_of(const Arguments& arguments, const GraphModel& model);

/// The model that the program of `path` was built from, as it was then: its sizes, the values of inputs that became
/// part of it, and what outputs take over. Error: the file does not say it, or the model or its data are not where they
/// were, or others are there.
GraphModel model_of(const std::string& path, const ProgramFileInfo& info, LoadGraphOptions options);

}  // namespace tenon::cli
