#include <algorithm>

#include "base/fail.h"
#include "cli/verb.h"
#include "text/suggest.h"

namespace tenon::cli {
namespace {

constexpr const Verb* kVerbs[] = {&kRunVerb,        &kExplainVerb, &kBenchVerb,     &kCheckVerb,    &kBuildVerb,
                                  &kInspectVerb,    &kTrainVerb,   &kExportVerb,    &kGenerateVerb, &kServeVerb,
                                  &kModelsVerb,     &kOpsVerb,     &kPartitionVerb, &kDemoVerb,     &kVersionVerb,
                                  &kCompletionVerb, &kManVerb,     &kHelpVerb};

constexpr Option kShared[] = {
    {"--json", "", "print one JSON object instead"},
    {"--help", "", "print what the verb does, its options and examples"},
};

}  // namespace

std::span<const Verb* const> verbs() { return kVerbs; }

const Verb& find_verb(std::string_view name) {
  std::vector<std::string> names;
  for (const Verb* verb : kVerbs) {
    if (verb->name == name) {
      return *verb;
    }
    names.emplace_back(verb->name);
  }
  fail("there is no verb `{}`{}; `tenon help` lists them", name, text::suggestion(name, names));
}

std::vector<Option> options_of(const Verb& verb) {
  std::vector<Option> options(verb.options.begin(), verb.options.end());
  std::ranges::copy(kShared, std::back_inserter(options));
  return options;
}

}  // namespace tenon::cli
