// The `tenon` command.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "demo.h"
#include "explain.h"
#include "models.h"
#include "operations.h"
#include "version.h"

namespace {

using Words = std::span<const std::string>;

struct Verb {
  std::string_view name;
  std::string_view doc;
  void (*run)(Words words);
  std::string (*help)() = nullptr;  // beyond the line above
};

/// A verb that takes no words.
template <void (*Run)()>
void alone(Words words) {
  if (!words.empty()) {
    tenon::fail("what is `{}`? This verb takes no arguments", words[0]);
  }
  Run();
}

constexpr Verb kVerbs[] = {
    {"explain", "show how a model was compiled: kernels, why they end, loops, assembly", tenon::explain,
     tenon::explain_help},
    {"demo", "compile a small model once, run it at five shapes, print times", alone<tenon::run_demo>},
    {"models", "list the built-in models with parameters and multiply-accumulates", alone<tenon::list_models>},
    {"ops", "list every elementwise function and builder with what it does", alone<tenon::list_operations>},
    {"version", "print the version, the machine that code is made for, and the cache", alone<tenon::print_version>},
};

const Verb& find_verb(std::string_view name) {
  const auto* verb = std::ranges::find(kVerbs, name, &Verb::name);
  if (verb == std::end(kVerbs)) {
    tenon::fail("there is no verb `{}`; `tenon help` lists them", name);
  }
  return *verb;
}

void print_help(const Verb& verb) {
  if (verb.help) {
    fmt::print("{}", verb.help());
  } else {
    fmt::print("usage: tenon {}\n\n{}\n", verb.name, verb.doc);
  }
}

void print_help() {
  fmt::print("tenon: compile a model once, run it at every shape\n\nusage: tenon VERB [arguments]\n\n");
  for (const Verb& verb : kVerbs) {
    fmt::print("  {:<10}{}\n", verb.name, verb.doc);
  }
  fmt::print("  {:<10}{}\n\n`tenon VERB --help` explains one verb. Try: tenon explain mlp\n", "help", "print this");
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

void run(std::string name, Words words) {
  if (name == "help" || asks_for_help(name)) {
    words.empty() ? print_help() : print_help(find_verb(words[0]));
    return;
  }
  const Verb& verb = find_verb(name == "--version" ? "version" : name);
  std::ranges::any_of(words, asks_for_help) ? print_help(verb) : verb.run(words);
}

}  // namespace

/// Exit status: 0, 1 for the user's mistake, 2 for our bug.
int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty()) {
      print_help();
      return 1;
    }
    run(words[0], Words(words).subspan(1));
    return 0;
  } catch (const tenon::Error& error) {
    fmt::print(stderr, "tenon: {}\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenon: {}\nThis is a bug in Tenon {}; please report it with the line above.\n", error.what(),
               TENON_VERSION);
    return 2;
  }
}
