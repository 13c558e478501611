// The verbs of the command: what each takes, says of itself, and does. Help, the manual page and completion of shells
// are all made from this, and what is parsed is checked against it.
#pragma once

#include <span>
#include <string_view>

#include "cli/words/arguments.h"

namespace tenon::cli {

struct Example {
  std::string_view command;  // without `tenon`
  std::string_view shows;
};

struct Verb {
  std::string_view name;
  std::string_view words;  // what stands after it: "MODEL FILE.onnx"; "[VERB]" may be left out
  std::string_view doc;    // one line
  std::string_view about;  // what the line does not say; sentences, lines broken where it is shown
  std::span<const Option> options = {};
  std::span<const Example> examples = {};
  /// Gives the exit status. Prints one JSON object when the arguments have `--json`.
  int (*run)(const Arguments& arguments) = nullptr;
};

/// In the order in which help lists them.
std::span<const Verb* const> verbs();
/// Error, with what may have been meant.
const Verb& find_verb(std::string_view name);
/// The verb's options and those that every verb has.
std::vector<Option> options_of(const Verb& verb);

// One for each file.
extern const Verb kRunVerb, kExplainVerb, kBenchVerb, kCheckVerb, kTrainVerb, kExportVerb, kDemoVerb, kModelsVerb,
    kOpsVerb, kVersionVerb, kCompletionVerb, kManVerb, kHelpVerb, kPartitionVerb, kBuildVerb, kInspectVerb,
    kGenerateVerb, kServeVerb;

}  // namespace tenon::cli
