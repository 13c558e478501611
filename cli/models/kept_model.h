// Models that an earlier call of the command compiled, as programs on disk (build/kept_program.h).
#pragma once

#include <optional>
#include <string>

#include "build/kept_program.h"
#include "cli/models/load_graph.h"
#include "cli/models/program_file.h"
#include "cli/words/arguments.h"

namespace tenon::cli {

/// The model of a call, and the place of its program. What a command says of a program that was kept is what it would
/// say of the model: where that could differ, nothing is kept.
class KeptModel {
 public:
  /// The model of `word`, with what `arguments` say of donations, and `options` as it would be compiled.
  KeptModel(const std::string& word, const Arguments& arguments, const CompileOptions& options);

  /// The program, if there is one, of the very files that the model is now.
  std::optional<ProgramFile> open() const;
  /// Whether a run at these sizes takes so long that announce_cost() has something to say, which takes the graph.
  static bool is_long(const ProgramFileInfo& info, const Bindings& sizes);
  /// Multiply-accumulates of products and convolutions.
  static Extent macs(const ProgramFileInfo& info);

  /// Compile the model, and keep its program in keep(), which is for when the answer was given.
  Executable compile(GraphModel&& model);
  void keep() { program_.keep(); }

 private:
  CompileOptions options_;
  KeptProgram program_;
};

}  // namespace tenon::cli
