#include "cli/explain/explain_two.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/fail.h"
#include "base/read_file.h"
#include "cli/explain/explain_diff.h"
#include "cli/models/files.h"
#include "cli/models/load_graph.h"
#include "cli/models/program_file.h"
#include "cli/print/terminal.h"
#include "cli/verb.h"

namespace tenon::cli {
namespace {

constexpr int64_t kMostJson = int64_t{1} << 30;

/// What says how something is shown, or what it is held against.
constexpr std::string_view kOfBoth[] = {"--diff", "--diff-with", "--html",  "--svg",    "--dot", "--memory",
                                        "--why",  "--passes",    "--after", "--kernel", "--asm", "--json"};

/// A model that is compiled now, or a file with what was printed earlier.
DiffSide diff_side(const Arguments& arguments, std::string title, const ExplainOne& one) {
  const std::string& word = arguments.rest()[0];
  const bool is_saved = word.ends_with(".json");
  return {.title = std::move(title),
          .program = read_program(is_saved ? read_file(word, kMostJson) : one.read(arguments).to_string(), word)};
}

/// The second of two: as the first, but for what `--diff` and `--diff-with` say.
Arguments other_side(const Arguments& arguments, const ExplainOne& one) {
  const std::string other = arguments.find("--diff").value_or(arguments.rest()[0]);
  std::vector<std::string> words = {other};
  for (const std::string& word : split(arguments.find("--diff-with").value_or(""), ' ')) {
    if (!word.empty()) {
      words.push_back(word);
    }
  }
  if (!arguments.has("--diff") && words.size() == 1) {
    fail("`--diff-with` gives no option, so that there is nothing to differ; `--diff-with=--no-fuse` does");
  }
  if (other.ends_with(".json") && words.size() > 1) {
    fail("`--diff-with` gives options to compile with, and `{}` is what was printed earlier", other);
  }
  const Arguments own(words, options_of(kExplainVerb));
  if (own.rest().size() > 1) {
    fail("`--diff-with` takes options, and `{}` is none", own.rest()[1]);
  }
  for (const std::string_view option : kOfBoth) {
    if (own.has(option)) {
      fail("`{}` is of both sides, so `--diff-with` does not take it", option);
    }
  }
  for (const Option& option : kExplainVerb.options) {
    const bool is_of_both = option.name != "--diff" && option.name != "--diff-with" && option.name != "--html";
    for (const std::string& value :
         is_of_both && !own.has(option.name) ? arguments.all(option.name) : std::vector<std::string>()) {
      words.push_back(option.value.empty() ? std::string(option.name) : fmt::format("{}={}", option.name, value));
    }
  }
  Arguments all(words, options_of(kExplainVerb));
  one.check(all);
  return all;
}

/// What cannot be read is said before the other side is compiled.
void require_readable(const std::string& word) {
  if (!is_model_file(word)) {
    (void)built_in_model(word);
  } else if (!std::filesystem::exists(word)) {
    fail("there is no file `{}`", word);
  }
}

}  // namespace

int explain_two(const Arguments& arguments, const ExplainOne& one) {
  const std::string& word = arguments.rest()[0];
  const Arguments other = other_side(arguments, one);
  require_readable(word);
  require_readable(other.rest()[0]);
  const std::string with = arguments.find("--diff-with").value_or("");
  const StepsDiff diff =
      diff_steps(diff_side(arguments, word, one),
                 diff_side(other, with.empty() ? other.rest()[0] : fmt::format("{} {}", other.rest()[0], with), one));
  if (const auto page = arguments.find("--html")) {
    write_text(*page, diff_page(diff));
  }
  if (arguments.has("--json")) {
    diff_json(diff).print();
  } else {
    fmt::print("{}", printable_lines(diff_text(diff)));
  }
  return 0;
}

}  // namespace tenon::cli
