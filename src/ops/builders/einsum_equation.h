// The index notation of einsum as data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// A letter, or -1 - i for axis i of the ellipsis counted from its last.
using Label = int;
using Labels = std::vector<Label>;

/// "`i`", for errors.
std::string describe_label(Label label);

/// A term of the equation: letters before and after an ellipsis, if there is one.
struct Term {
  Labels before, after;
  bool ellipsis = false;

  size_t letters() const { return before.size() + after.size(); }
  /// With `count` axes in place of the ellipsis.
  Labels with_ellipsis(int count) const;
};

struct Equation {
  std::vector<Term> operands;  // at least one
  std::optional<Term> output;  // none: implicit
};

/// Spaces mean nothing. Error: a character that is no letter and not part of the notation.
Equation parse_equation(std::string_view text);

}  // namespace tenon
