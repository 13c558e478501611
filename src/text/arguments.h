// The arguments of an operation, before anybody knows what they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/cursor.h"

namespace tenon::text {

/// Split at commas. Named arguments come after those without a name; each is taken once.
class Arguments {
 public:
  /// `inside` is what stands between the parentheses.
  explicit Arguments(Cursor inside);

  /// The next argument without a name; null when there is none left.
  const Cursor* peek() const;
  Cursor take_next();

  /// The argument of that name, or else the next one without a name.
  std::optional<Cursor> take(std::string_view name);

  /// Fail when an argument has not been taken. `names` are those that `operation` knows.
  void finish(std::string_view operation, const std::vector<std::string>& names) const;

 private:
  struct Argument {
    std::string_view name;  // empty: none
    Cursor start;           // at the name
    Cursor content;
    bool taken = false;
  };

  std::vector<Argument> arguments_;
  size_t next_ = 0;  // of the arguments without a name
};

/// Whether an operand can begin here: a name, `%0`, an operation.
bool starts_operand(const Cursor& cursor);

}  // namespace tenon::text
