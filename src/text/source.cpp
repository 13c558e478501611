#include "text/source.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::text {
namespace {

constexpr size_t kShown = 100;  // characters of a long line that are shown around the mark

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }  // of UTF-8

/// The line and, below it, a mark under byte `column`.
std::string excerpt(std::string_view line, size_t column) {
  size_t begin = std::min(line.find_first_not_of(" \t\r"), column);
  if (column - begin > kShown) {
    begin = column - kShown;
    while (begin < column && continues_character(line[begin])) {
      ++begin;
    }
  }
  size_t end = std::min(line.size(), column + kShown);
  while (end < line.size() && continues_character(line[end])) {
    ++end;
  }
  while (end > column && is_blank(line[end - 1])) {
    --end;
  }
  std::string shown(line.substr(begin, end - begin));
  const auto characters =
      std::count_if(line.begin() + static_cast<std::ptrdiff_t>(begin),
                    line.begin() + static_cast<std::ptrdiff_t>(column), [](char c) { return !continues_character(c); });
  std::ranges::replace_if(shown, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; }, ' ');
  return fmt::format("    {}\n    {:{}}^", shown, "", characters);
}

}  // namespace

void Source::fail_at(size_t offset, std::string_view message) const {
  offset = std::min(offset, text_.size());
  const auto line_number = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  const size_t before = offset == 0 ? std::string_view::npos : text_.rfind('\n', offset - 1);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::string_view line = text_.substr(begin, std::min(text_.find('\n', offset), text_.size()) - begin);

  const size_t first_end = std::min(message.find('\n'), message.size());
  LocatedError error(fmt::format("{}:{}: {}\n{}", line_number, offset - begin + 1, message.substr(0, first_end),
                                 excerpt(line, offset - begin)));
  for (std::string_view rest = message.substr(first_end); !rest.empty();) {
    rest.remove_prefix(1);  // the line break
    const std::string_view note = rest.substr(0, rest.find('\n'));
    error.note(std::string(note.substr(std::min(note.find_first_not_of(' '), note.size()))));
    rest.remove_prefix(note.size());
  }
  throw LocatedError(error);
}

}  // namespace tenon::text
