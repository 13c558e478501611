#include "cli/verbs/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/print/json.h"

namespace tenon::cli {
namespace {

constexpr size_t kColumns = 100;

/// Sentences as lines of at most kColumns, each after `indent` spaces.
std::string wrapped(std::string_view text, size_t indent) {
  std::string lines;
  std::string line;
  const auto flush = [&] {
    lines += std::string(indent, ' ') + line + '\n';
    line.clear();
  };
  for (const std::string& word : split(text, ' ')) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) {
      flush();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  flush();
  return lines;
}

/// A word, and what it means in a column of its own.
std::string entry(const std::string& word, std::string_view meaning, size_t column) {
  std::string lines = wrapped(meaning, column);
  const std::string head = "  " + word;
  if (head.size() + 2 > column) {
    return head + '\n' + lines;
  }
  return lines.replace(0, head.size(), head);
}

int run_help(const Arguments& arguments) {
  const Verb* verb = arguments.rest().empty() ? nullptr : &find_verb(arguments.rest()[0]);
  if (!arguments.has("--json")) {
    fmt::print("{}", verb != nullptr ? help_text(*verb) : help_text());
    return 0;
  }
  Json list = Json::array();
  for (const Verb* each : verbs()) {
    if (verb != nullptr && each != verb) {
      continue;
    }
    Json options = Json::array();
    for (const Option& option : options_of(*each)) {
      options.push(Json::object()
                       .set("name", option.name)
                       .set("value", option.value)
                       .set("doc", option.doc)
                       .set("repeats", option.repeats));
    }
    list.push(Json::object()
                  .set("name", each->name)
                  .set("words", each->words)
                  .set("doc", each->doc)
                  .set("about", each->about)
                  .set("options", options));
  }
  Json::object().set("verbs", list).print();
  return 0;
}

}  // namespace

std::string spelling(const Option& option) {
  return option.value.empty() ? std::string(option.name) : fmt::format("{} {}", option.name, option.value);
}

std::string usage(const Verb& verb) {
  return fmt::format("tenon {}{}{} [options]", verb.name, verb.words.empty() ? "" : " ", verb.words);
}

std::string help_text(const Verb& verb) {
  std::string text = fmt::format("usage: {}\n\n{}: {}\n\n", usage(verb), verb.name, verb.doc);
  if (!verb.about.empty()) {
    for (const std::string& paragraph : split(verb.about, '\n')) {
      text += wrapped(paragraph, 0);
    }
    text += '\n';
  }
  text += "options:\n";
  size_t column = 0;
  for (const Option& option : options_of(verb)) {
    column = std::max(column, std::min<size_t>(spelling(option).size() + 4, 30));
  }
  for (const Option& option : options_of(verb)) {
    text += entry(spelling(option), option.doc, column);
  }
  if (!verb.examples.empty()) {
    text += "\nexamples:\n";
    for (const Example& example : verb.examples) {
      text += entry(fmt::format("tenon {}", example.command), example.shows, 58);
    }
  }
  return text;
}

std::string help_text() {
  std::string text = "tenon: compile a model once, run it at every shape\n\nusage: tenon VERB [words] [options]\n\n";
  for (const Verb* verb : verbs()) {
    text += entry(std::string(verb->name), verb->doc, 14);
  }
  text +=
      "\nMODEL is a built-in model (`tenon models` lists them), a .graph file of graph text, or an .onnx file.\n"
      "Its axes have names; `--bind batch=8,seq=128` gives them sizes.\n\n"
      "begin with:\n";
  for (const Verb* verb : verbs()) {
    if (!verb->examples.empty()) {
      text += entry(fmt::format("tenon {}", verb->examples[0].command), verb->examples[0].shows, 46);
    }
  }
  text += "\n`tenon VERB --help` explains one verb, `tenon man` prints the manual page. Every verb takes --json.\n";
  return text;
}

namespace {

constexpr Example kHelpExamples[] = {{"help run", "one verb: what it does, its options, examples"}};

}  // namespace

const Verb kHelpVerb{.name = "help",
                     .words = "[VERB]",
                     .doc = "list the verbs, or explain one",
                     .about = "With --json, verbs and options as data.",
                     .examples = kHelpExamples,
                     .run = run_help};

}  // namespace tenon::cli
