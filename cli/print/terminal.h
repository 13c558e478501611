// What only a terminal gets: colours and progress. In a pipe and in a file there is neither.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::cli {

/// Words that stand out on standard output: as they are unless that is a terminal, and where NO_COLOR is set.
std::string bold(std::string_view text);
std::string red(std::string_view text);
std::string green(std::string_view text);

/// Text of a file, or of a user, that a terminal does not take for commands: control characters are escaped (`\n`,
/// `\x1b`), and so are bytes that are no UTF-8. All else stays.
std::string printable(std::string_view text);
/// The same of each line.
std::string printable_lines(std::string_view text);

/// A line on standard error that is overwritten by the next one and gone with the object. What is wider than the
/// terminal is cut: a line that breaks cannot be overwritten.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view line) const;
  /// How many characters a line shows: as many as there may be, where that is not known.
  size_t columns() const;

 private:
  bool terminal_;
};

}  // namespace tenon::cli
