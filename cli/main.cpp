// The `tenon` command.
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "demo.h"
#include "models.h"
#include "operations.h"
#include "tenon/error.h"

namespace {

struct Verb {
  std::string_view name;
  std::string_view doc;
  void (*run)();
};

constexpr Verb kVerbs[] = {
    {"demo", "build a small model, run it at five shapes, print shapes and times", tenon::run_demo},
    {"models", "list the built-in models with parameters and multiply-accumulates", tenon::list_models},
    {"ops", "list every elementwise function and builder with what it does", tenon::list_operations},
    {"version", "print the version", [] { fmt::print("tenon {}\n", TENON_VERSION); }},
};

void print_help() {
  fmt::print("tenon: compile a model once, run it at every shape\n\nusage: tenon VERB\n\n");
  for (const Verb& verb : kVerbs) {
    fmt::print("  {:<10}{}\n", verb.name, verb.doc);
  }
  fmt::print("  {:<10}{}\n", "help", "print this");
}

/// Exit status: 0, 1 for the user's mistake, 2 for our bug.
int run(std::string_view name) {
  if (name == "help" || name == "--help" || name == "-h") {
    print_help();
    return 0;
  }
  for (const Verb& verb : kVerbs) {
    if (verb.name == name || (verb.name == "version" && name == "--version")) {
      verb.run();
      return 0;
    }
  }
  fmt::print(stderr, "tenon: there is no verb `{}`; `tenon help` lists them\n", name);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 1) {
      print_help();
      return 1;
    }
    if (argc > 2) {
      fmt::print(stderr, "tenon: `{}` takes no arguments yet; `tenon help` lists the verbs\n", argv[1]);
      return 1;
    }
    return run(argv[1]);
  } catch (const tenon::Error& error) {
    fmt::print(stderr, "tenon: {}\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenon: {}\nThis is a bug in Tenon {}; please report it with the line above.\n", error.what(),
               TENON_VERSION);
    return 2;
  }
}
