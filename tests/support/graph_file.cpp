#include "support/graph_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>

#include "base/fail.h"
#include "ir/unify_names.h"
#include "text/graph_parser.h"
#include "text/module_parser.h"
#include "text/token.h"

namespace tenon {
namespace {

const std::filesystem::path kRoot = TENON_SOURCE_DIR;

struct Line {
  size_t begin = 0;
  size_t end = 0;  // without the line break
  size_t number = 1;
};

/// What the sections of a case hold. Each but `error` is the whole file with all other characters blanked, so that
/// errors give the line and the column in the file.
struct Sections {
  std::string before, in, out;
  std::string error;
  bool has_in = false, has_out = false;
  size_t line = 0;  // of `in`
};

std::string read_file(const std::string& path) {
  std::ifstream file(kRoot / path);
  if (!file) {
    fail("{} cannot be read", path);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back({begin, end, lines.size() + 1});
    begin = end + 1;
  }
  return lines;
}

std::string blanked(const std::string& text) {
  std::string blank = text;
  std::ranges::replace_if(blank, [](char c) { return c != '\n'; }, ' ');
  return blank;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// The section that begins with this line, or "".
std::string_view keyword(std::string_view line) {
  for (const std::string_view word : {"in", "out", "error"}) {
    if (line.starts_with(word) && line.size() > word.size() && line[word.size()] == ' ') {
      return word;
    }
  }
  return "";
}

Sections split_sections(const std::string& path, const std::string& text, std::span<const Line> lines) {
  Sections sections;
  const std::string blank = blanked(text);
  sections.before = sections.in = sections.out = blank;
  std::string* current = &sections.before;
  for (const Line& line : lines) {
    const std::string_view content(text.data() + line.begin, line.end - line.begin);
    const std::string_view word = keyword(content);
    if (word == "error") {
      sections.error = trimmed(content.substr(word.size()));
      current = nullptr;
      continue;
    }
    if (word == "in") {
      sections.line = line.number;
      sections.has_in = true;
      current = &sections.in;
    } else if (word == "out") {
      sections.has_out = true;
      current = &sections.out;
    }
    const bool is_empty = trimmed(content).empty() || content.starts_with('#');
    const bool continues = content.starts_with(' ') || current == &sections.before;
    if (!is_empty && word.empty() && (!continues || current == nullptr)) {
      fail("{}:{}: expected `in`, `out`, `error` or `---`", path, line.number);
    }
    if (!is_empty) {
      current->replace(line.begin + word.size(), content.size() - word.size(), content.substr(word.size()));
    }
  }
  return sections;
}

/// `x: f32[2]`, and not the start of `x: f32[2] = ...`.
bool at_input(text::Cursor cursor) {
  if (!cursor.at_name() || !cursor.at(':', 1) || !cursor.at('[', 3)) {
    return false;
  }
  cursor.take();
  cursor.take();
  cursor.take();
  cursor.take_bracketed('[');
  return !cursor.at('=') && !cursor.at(',');
}

void parse_inputs(text::GraphParser& parser, text::Cursor& cursor) {
  while (at_input(cursor)) {
    parser.parse_input(cursor);
  }
}

/// Read all statements; the names that they define, in order.
std::vector<std::string> parse_statements(text::GraphParser& parser, text::Cursor cursor) {
  std::vector<std::string> names;
  while (!cursor.done()) {
    parser.parse_statement(cursor);
    for (const Output& defined : parser.last_defined()) {
      if (std::ranges::find(names, defined.name) == names.end()) {
        names.push_back(defined.name);
      }
    }
  }
  return names;
}

Graph finish(const text::GraphParser& parser, const std::vector<std::string>& names) {
  std::vector<Output> outputs;
  for (const std::string& name : names) {
    outputs.push_back({.name = name, .value = *parser.find(name)});
  }
  return parser.finish("main", std::move(outputs));
}

GraphCase build_case(const std::string& path, const Sections& sections) {
  GraphCase result;
  result.name = fmt::format("{}:{}", path, sections.line);
  result.error = sections.error;
  text::GraphTable graphs;
  std::optional<UnifyNames> unify;
  const text::TokenList before = text::lex(sections.before);
  parse_graphs(text::Cursor(before), graphs, unify);

  const text::TokenList in = text::lex(sections.in);
  const text::TokenList out = text::lex(sections.out);
  text::GraphParser expected(graphs);
  std::vector<std::string> names;
  if (sections.has_out) {
    text::Cursor cursor(in);
    parse_inputs(expected, cursor);
    names = parse_statements(expected, text::Cursor(out));
  }
  try {
    text::GraphParser parser(graphs);
    text::Cursor cursor(in);
    parse_inputs(parser, cursor);
    parse_statements(parser, cursor);
    if (sections.has_out) {
      std::erase_if(names, [&](const std::string& name) { return parser.find(name) == nullptr; });
      result.graph = finish(parser, names);
    } else {
      result.graph = parser.has_returned() ? parser.finish("main") : parser.finish("main", parser.last_defined());
    }
  } catch (const Error& error) {
    result.failure = error.what();
    return result;
  }
  if (sections.has_out) {
    result.expected = finish(expected, names);
  }
  return result;
}

}  // namespace

std::vector<GraphCase> load_graph_cases(const std::string& path) {
  const std::string text = read_file(path);
  const std::vector<Line> lines = lines_of(text);
  std::vector<GraphCase> cases;
  for (size_t begin = 0; begin < lines.size();) {
    const auto is_separator = [&](const Line& line) {
      return trimmed(std::string_view(text).substr(line.begin, line.end - line.begin)) == "---";
    };
    const auto end = std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(begin), lines.end(), is_separator);
    const auto count = static_cast<size_t>(end - lines.begin()) - begin;
    const Sections sections = split_sections(path, text, std::span(lines).subspan(begin, count));
    if (!sections.has_in) {
      fail("{}:{}: this case has no `in`", path, lines[begin].number);
    }
    try {
      cases.push_back(build_case(path, sections));
    } catch (const Error& error) {
      fail("{}: {}", path, error.what());
    }
    begin += count + 1;
  }
  return cases;
}

std::vector<std::string> graph_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / folder)) {
    if (entry.path().extension() == ".graph") {
      files.push_back(std::filesystem::relative(entry.path(), kRoot).generic_string());
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace tenon
