// `tenon completion`: scripts for shells, from the table of verbs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/fail.h"
#include "cli/print/json.h"
#include "cli/verb.h"
#include "tenon/machine.h"
#include "tenon/models.h"

namespace tenon::cli {
namespace {

enum class Kind : uint8_t { nothing, files, folders, words };

/// What a shell offers for a value or a word.
struct Offer {
  Kind kind = Kind::nothing;
  std::vector<std::string> words;
  bool files_too = false;
};

/// By what it is called; see Option.
Offer offer_for(std::string_view value) {
  if (!value.empty() && value.front() == '[' && value.back() == ']') {
    value = value.substr(1, value.size() - 2);
  }
  Offer offer;
  if (value == "MODEL") {
    offer = {.kind = Kind::words, .words = {}, .files_too = true};
    for (const ModelEntry& entry : model_table()) {
      offer.words.emplace_back(entry.name);
    }
  } else if (value == "MACHINE") {
    offer = {.kind = Kind::words, .words = machine_names(), .files_too = true};
  } else if (value == "VERB") {
    offer.kind = Kind::words;
    for (const Verb* verb : verbs()) {
      offer.words.emplace_back(verb->name);
    }
  } else if (value.find('|') != std::string_view::npos) {
    offer = {.kind = Kind::words, .words = split(value, '|')};
  } else if (value == "DIR") {
    offer.kind = Kind::folders;
  } else if (value.find('.') != std::string_view::npos && value.find("...") == std::string_view::npos) {
    offer.kind = Kind::files;
  }
  return offer;
}

/// What the words after a verb may be; the same for each of them.
Offer offer_for_words(const Verb& verb) { return offer_for(split(verb.words, ' ')[0]); }

std::string verb_names() {
  std::vector<std::string_view> names;
  std::ranges::transform(verbs(), std::back_inserter(names), &Verb::name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash_reply(const Offer& offer) {
  std::string reply;
  if (offer.kind == Kind::words) {
    reply += fmt::format("COMPREPLY+=($(compgen -W '{}' -- \"$current\")); ", fmt::join(offer.words, " "));
  }
  if (offer.kind == Kind::files || offer.files_too) {
    reply += "COMPREPLY+=($(compgen -f -- \"$current\")); ";
  }
  if (offer.kind == Kind::folders) {
    reply += "COMPREPLY+=($(compgen -d -- \"$current\")); ";
  }
  return reply;
}

std::string bash_script() {
  std::string text = fmt::format(
      "# bash completion of tenon; use it with: source <(tenon completion bash)\n"
      "_tenon() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case $verb in\n",
      verb_names());
  for (const Verb* verb : verbs()) {
    std::string names;
    std::string values;
    for (const Option& option : options_of(*verb)) {
      names += fmt::format("{}{}", names.empty() ? "" : " ", option.name);
      if (!option.value.empty()) {
        values += fmt::format("        {}) {}return ;;\n", option.name, bash_reply(offer_for(option.value)));
      }
    }
    text += fmt::format("    {})\n", verb->name);
    if (!values.empty()) {
      text += fmt::format("      case $previous in\n{}      esac\n", values);
    }
    text += fmt::format("      case $current in -*) COMPREPLY=($(compgen -W '{}' -- \"$current\")); return ;; esac\n",
                        names);
    text += fmt::format("      {};;\n", bash_reply(offer_for_words(*verb)));
  }
  return text + "  esac\n}\ncomplete -o filenames -F _tenon tenon\n";
}

/// Single quotes in a text that stands in single quotes.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string result;
  for (const char c : text) {
    result += c == '\'' ? std::string(quote) : std::string{c};
  }
  return result;
}

std::string zsh_action(const Offer& offer) {
  switch (offer.kind) {
    case Kind::nothing: return " ";
    case Kind::files: return "_files";
    case Kind::folders: return "_files -/";
    case Kind::words: break;
  }
  const std::string words = fmt::format("{}", fmt::join(offer.words, " "));
  return offer.files_too ? fmt::format("{{compadd {}; _files}}", words) : fmt::format("({})", words);
}

std::string zsh_script() {
  const auto plain = [](std::string_view text) {
    std::string result;
    for (const char c : quoted(text, "'\\''")) {
      result += c == '[' || c == ']' || c == ':' ? std::string{'\\', c} : std::string{c};
    }
    return result;
  };
  std::string text = "#compdef tenon\n_tenon() {\n  if (( CURRENT == 2 )); then\n    local -a verbs=(\n";
  for (const Verb* verb : verbs()) {
    text += fmt::format("      '{}:{}'\n", verb->name, plain(verb->doc));
  }
  text +=
      "    )\n    _describe verb verbs\n    return\n  fi\n  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n  "
      "case $verb in\n";
  for (const Verb* verb : verbs()) {
    text += fmt::format("    {})\n      _arguments", verb->name);
    for (const Option& option : options_of(*verb)) {
      text += fmt::format(
          " \\\n        '{}{}[{}]{}'", option.repeats ? "*" : "", option.name, plain(option.doc),
          option.value.empty() ? "" : fmt::format(":{}:{}", plain(option.value), zsh_action(offer_for(option.value))));
    }
    if (!verb->words.empty()) {
      text += fmt::format(" \\\n        '*:{}:{}'", plain(verb->words), zsh_action(offer_for_words(*verb)));
    }
    text += " ;;\n";
  }
  // Sourced, it says what it completes; as a file of $fpath it is the function itself, called for the first time.
  return text +
         "  esac\n}\nif [ \"$funcstack[1]\" = _tenon ]; then\n  _tenon \"$@\"\nelse\n  compdef _tenon tenon\nfi\n";
}

std::string fish_script() {
  std::string text = "# fish completion of tenon; use it with: tenon completion fish | source\ncomplete -c tenon -f\n";
  for (const Verb* verb : verbs()) {
    text +=
        fmt::format("complete -c tenon -n __fish_use_subcommand -a {} -d '{}'\n", verb->name, quoted(verb->doc, "\\'"));
    const std::string inside = fmt::format("complete -c tenon -n '__fish_seen_subcommand_from {}'", verb->name);
    const auto has_files = [](const Offer& offer) {
      return offer.kind == Kind::files || offer.kind == Kind::folders || offer.files_too;
    };
    const auto arguments = [&](const Offer& offer) {
      return fmt::format("{}{}", has_files(offer) ? " -F" : "",
                         offer.words.empty() ? "" : fmt::format(" -a '{}'", fmt::join(offer.words, " ")));
    };
    for (const Option& option : options_of(*verb)) {
      const Offer offer = offer_for(option.value);
      const std::string_view takes = option.value.empty() ? "" : has_files(offer) ? " -r" : " -x";
      text += fmt::format("{} -l {}{}{} -d '{}'\n", inside, option.name.substr(2), takes, arguments(offer),
                          quoted(option.doc, "\\'"));
    }
    if (!verb->words.empty()) {
      text += fmt::format("{}{}\n", inside, arguments(offer_for_words(*verb)));
    }
  }
  return text;
}

int run_completion(const Arguments& arguments) {
  const std::string& shell = arguments.rest()[0];
  std::string script;
  if (shell == "bash") {
    script = bash_script();
  } else if (shell == "zsh") {
    script = zsh_script();
  } else if (shell == "fish") {
    script = fish_script();
  } else {
    fail("there is no completion for `{}`; there is: bash, zsh, fish", shell);
  }
  if (arguments.has("--json")) {
    Json::object().set("shell", shell).set("script", script).print();
  } else {
    fmt::print("{}", script);
  }
  return 0;
}

constexpr Example kCompletionExamples[] = {
    {"completion bash", "then: source <(tenon completion bash)"},
};

}  // namespace

const Verb kCompletionVerb{.name = "completion",
                           .words = "bash|zsh|fish",
                           .doc = "print the script that completes words in a shell",
                           .about = "It knows the verbs, their options and the built-in models.",
                           .examples = kCompletionExamples,
                           .run = run_completion};

}  // namespace tenon::cli
