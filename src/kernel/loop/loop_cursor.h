// A place in a line of the text of a loop kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/extent.h"

namespace tenon::loops {

/// A summand of a sum as to_string() writes it: an extent, or one times an axis or a value.
struct Summand {
  std::string scale = {};        // with its sign and a `*` behind it, or the sign alone, if the summand is a product
  std::string_view factor = {};  // the last one of a product: a number, a name, a call or something in parentheses
  std::string whole = {};        // with its sign
  size_t at = 0;                 // where it is in the line

  /// The word that is multiplied last, or "".
  std::string_view word() const;
};

/// A value; the text must outlive it. Errors name the line and the column.
class LineCursor {
 public:
  LineCursor(std::string_view text, size_t number) : text_(text), number_(number) {}

  size_t number() const { return number_; }  // of the line, from 1
  size_t column() const { return at_; }
  bool done() const { return at_ == text_.size(); }
  bool at(std::string_view literal) const { return rest().starts_with(literal); }
  std::string_view rest() const { return text_.substr(at_); }

  bool accept(std::string_view literal);
  void expect(std::string_view literal);
  void expect_done() const;

  int64_t take_natural();
  /// A number behind a letter, such as 12 of `v12`: at most kMostIndex.
  int take_index(char letter);
  double take_number();
  /// [A-Za-z_][A-Za-z0-9_.]*; `what` says in errors what it would be.
  std::string_view take_word(std::string_view what);
  Extent take_extent();
  /// Summands with ` + ` and ` - ` between them; at least one.
  std::vector<Summand> take_sum();
  /// `text`, which lies in the line at `at`, as an extent.
  Extent extent(const std::string& text, size_t at) const;
  /// The part of the line between two columns.
  LineCursor part(size_t begin, size_t end) const;

  [[noreturn]] void fail(std::string_view message) const { fail_at(at_, message); }
  [[noreturn]] void fail_at(size_t column, std::string_view message) const;
  /// "expected `what`, found ..."
  [[noreturn]] void expected(std::string_view what) const;

  static constexpr int kMostIndex = 100'000;

 private:
  /// Moves past an extent; where its last factor begins, or npos if it is no product.
  size_t skip_extent();
  void skip_operand();
  void skip_quoted();
  void skip_parentheses();

  std::string_view text_;
  size_t number_;
  size_t at_ = 0;
};

}  // namespace tenon::loops
