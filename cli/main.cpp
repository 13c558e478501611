// The `tenon` command.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "base/fail.h"
#include "cli/models/files.h"
#include "cli/print/interrupt.h"
#include "cli/print/terminal.h"
#include "cli/verbs/help.h"
#include "tenon/cancel.h"

namespace tenon::cli {
namespace {

using Words = std::span<const std::string>;

/// As many words as the verb takes.
void check_words(const Verb& verb, const std::vector<std::string>& given) {
  const std::vector<std::string> wanted = verb.words.empty() ? std::vector<std::string>() : split(verb.words, ' ');
  const auto needed = std::ranges::count_if(wanted, [](const std::string& word) { return !word.starts_with('['); });
  if (std::ssize(given) < needed) {
    fail("{} takes {}, and {} is missing; `tenon {} --help` has examples", verb.name, verb.words, wanted[given.size()],
         verb.name);
  }
  if (given.size() > wanted.size()) {
    fail("what is `{}`? The usage is: {}", given[wanted.size()], usage(verb));
  }
}

constexpr std::string_view kCannotWrite = "cannot write to standard output";

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

int run(const std::string& name, Words words) {
  const Verb& verb = find_verb(asks_for_help(name) ? "help" : name == "--version" ? "version" : name);
  if (std::ranges::any_of(words, asks_for_help)) {
    fmt::print("{}", help_text(verb));
    return 0;
  }
  const Arguments arguments(words, options_of(verb));
  check_words(verb, arguments.rest());
  check_written(arguments, options_of(verb));
  return verb.run(arguments);
}

}  // namespace
}  // namespace tenon::cli

/// Exit status: 0, 1 for the user's mistake, 2 for our bug, 130 for an interrupt.
int main(int argc, char** argv) {
  tenon::cli::end_at_interrupts();
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of who writes it
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty()) {
      fmt::print(stderr, "{}", tenon::cli::help_text());
      return 1;
    }
    const int status = tenon::cli::run(words[0], tenon::cli::Words(words).subspan(1));
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {  // or earlier, what was written line by line
      tenon::fail(tenon::cli::kCannotWrite);
    }
    return status;
  } catch (const tenon::Cancelled&) {
    return tenon::cli::kInterruptedStatus;
  } catch (const tenon::Error& error) {
    fmt::print(stderr, "tenon: {}\n", tenon::cli::printable_lines(error.what()));
    return 1;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "tenon: there is not enough memory for this\n");
    return 1;
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) {  // {fmt} throws where standard output takes no more
      fmt::print(stderr, "tenon: {}\n", tenon::cli::kCannotWrite);
      return 1;
    }
    fmt::print(stderr, "tenon: {}\nThis is a bug in Tenon {}; please report it with the line above.\n", error.what(),
               TENON_VERSION);
    return 2;
  }
}
