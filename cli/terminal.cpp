#include "terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

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

}  // namespace

std::string bold(std::string_view text) { return styled("1", text); }
std::string red(std::string_view text) { return styled("31", text); }
std::string green(std::string_view text) { return styled("32", text); }

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { show(""); }

void Progress::show(std::string_view line) const {
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}", line);
    std::fflush(stderr);
  }
}

}  // namespace tenon::cli
