#include "cli/print/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/json.h"

namespace tenon::cli {
namespace {

bool has_colours() {
  static const bool answer = [] {
    const char* no = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
    return isatty(STDOUT_FILENO) == 1 && !dumb && (no == nullptr || *no == '\0');
  }();
  return answer;
}

std::string styled(std::string_view code, std::string_view text) {
  return has_colours() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

/// The number of a character that is valid UTF-8.
uint32_t number_of(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(character[i])); };
  uint32_t number = character.size() == 1 ? byte(0) : byte(0) & (0xFFU >> (character.size() + 1));
  for (size_t i = 1; i < character.size(); ++i) {
    number = (number << 6U) | (byte(i) & 0x3FU);
  }
  return number;
}

/// Control characters, and those that turn the direction of what stands around them.
bool is_command(uint32_t number) {
  return number < 0x20 || (number >= 0x7F && number < 0xA0) || number == 0x2028 || number == 0x2029 ||
         (number >= 0x202A && number <= 0x202E) || (number >= 0x2066 && number <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    const uint32_t number = length == 0 ? static_cast<unsigned char>(text[0]) : number_of(character);
    if (length > 0 && !is_command(number)) {
      result += character;
    } else if (number == '\n' || number == '\t' || number == '\r') {
      result += number == '\n' ? "\\n" : number == '\t' ? "\\t" : "\\r";
    } else {
      result += length < 2 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
    }
    text.remove_prefix(character.size());
  }
  return result;
}

std::string printable_lines(std::string_view text) {
  std::string result;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    result += (at == 0 ? "" : "\n") + printable(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

std::string bold(std::string_view text) { return styled("1", text); }
std::string red(std::string_view text) { return styled("31", text); }
std::string green(std::string_view text) { return styled("32", text); }

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {
  const char* terminal = std::getenv("TERM");
  terminal_ = terminal_ && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

Progress::~Progress() { show(""); }

size_t Progress::columns() const {
  winsize size{};
  const bool known = terminal_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col - 1U : std::numeric_limits<size_t>::max();  // in the last one the cursor stands
}

void Progress::show(std::string_view line) const {
  if (terminal_) {
    size_t end = 0;
    for (size_t left = columns(); end < line.size() && left > 0; --left) {
      end += std::max<size_t>(utf8_length(line.substr(end)), 1);
    }
    fmt::print(stderr, "\r\x1b[K{}", line.substr(0, end));
    std::fflush(stderr);
  }
}

}  // namespace tenon::cli
