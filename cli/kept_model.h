// Models that an earlier call of the command compiled, as programs on disk (build/program_cache.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "arguments.h"
#include "build/program_cache.h"
#include "load_graph.h"
#include "program_file.h"

namespace tenon::cli {

/// The model of a call, and the place of its program. What a run says of a program that was kept is what it would say
/// of the model: where that could differ, nothing is kept.
class KeptModel {
 public:
  /// `options` as the model would be compiled.
  KeptModel(const Arguments& arguments, const CompileOptions& options);

  /// The program, if there is one, of the very files that the model is now. One that is damaged is removed.
  std::optional<ProgramFile> open() const;
  /// Whether a run at these sizes takes so long that announce_cost() has something to say, which takes the graph.
  static bool is_long(const ProgramFileInfo& info, const Bindings& sizes);

  /// Compile the model, and keep its program in keep(), which is for when the answer was given.
  Executable compile(GraphModel&& model);
  void keep() const;

 private:
  std::string identity_;  // of the model; empty: it has none that is certain
  CompileOptions options_;
  ProgramKey key_;
  ProgramCache cache_;
  std::shared_ptr<const saved::SavedProgram> saved_;
};

}  // namespace tenon::cli
