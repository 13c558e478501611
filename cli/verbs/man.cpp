// `tenon man`: the manual page, from the table of verbs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/print/json.h"
#include "cli/verbs/help.h"

namespace tenon::cli {
namespace {

/// Text for roff: what it would take as a command is not one.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '\\' ? "\\e" : c == '-' ? "\\-" : c == '`' ? "\\(aq" : std::string{c};
  }
  const bool command = result.starts_with('.') || result.starts_with('\'');
  return (command ? "\\&" : "") + result;
}

std::string verb_page(const Verb& verb) {
  std::string text = fmt::format(".SS {}\n.B {}\n.PP\n{}.\n", roff(verb.name), roff(usage(verb)), roff(verb.doc));
  for (const std::string& paragraph : split(verb.about, '\n')) {
    text += paragraph.empty() ? "" : fmt::format("{}\n", roff(paragraph));
  }
  for (const Option& option : verb.options) {
    text += fmt::format(".TP\n.B {}\n{}\n", roff(spelling(option)), roff(option.doc));
  }
  if (!verb.examples.empty()) {
    text += ".PP\nExamples:\n";
    for (const Example& example : verb.examples) {
      text += fmt::format(".TP\n.B tenon {}\n{}\n", roff(example.command), roff(example.shows));
    }
  }
  return text;
}

std::string manual_page() {
  std::string text = fmt::format(
      ".TH TENON 1 \"\" \"Tenon {}\" \"User Commands\"\n.SH NAME\ntenon \\- compile a model once, run it at every "
      "shape\n.SH SYNOPSIS\n.B tenon\n.I VERB\n.RI [ words \"] [\" options ]\n.SH DESCRIPTION\n"
      "MODEL is a built\\-in model, a .graph file of graph text, or an .onnx file. Its axes have names, to which\n"
      ".B \\-\\-bind batch=8,seq=128\ngives sizes. A model is compiled once for all of them.\n.PP\n"
      "Every verb takes\n.B \\-\\-json\n(print one JSON object instead) and\n.BR \\-\\-help .\n.SH VERBS\n",
      roff(TENON_VERSION));
  for (const Verb* verb : verbs()) {
    text += verb_page(*verb);
  }
  return text +
         ".SH EXIT STATUS\n0, or 1 for a mistake of the user's (and for\n.B tenon check\nwhen outputs differ), or 2 "
         "for a "
         "bug in Tenon, with a line to report.\n.SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours; there are none in pipes "
         "either\n.TP\n.B XDG_CACHE_HOME\nmachine code, programs and rates of this machine are kept below it, else "
         "below ~/.cache\n";
}

int run_man(const Arguments& arguments) {
  if (arguments.has("--json")) {
    Json::object().set("page", manual_page()).print();
  } else {
    fmt::print("{}", manual_page());
  }
  return 0;
}

constexpr Example kManExamples[] = {{"man", "then: man -l <(tenon man)"}};

}  // namespace

const Verb kManVerb{.name = "man",
                    .words = "",
                    .doc = "print the manual page",
                    .about = "It is written in roff, for man.",
                    .examples = kManExamples,
                    .run = run_man};

}  // namespace tenon::cli
