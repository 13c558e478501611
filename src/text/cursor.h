// A place among tokens, and the part of them that may be read from there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace tenon::text {

/// A value; the tokens must outlive it. Reading beyond the part gives tokens of kind `end`.
class Cursor {
 public:
  explicit Cursor(const TokenList& list) : Cursor(list, 0, list.tokens.size() - 1) {}

  bool done() const { return at_ >= end_; }
  Token peek(size_t ahead = 0) const;
  TokenKind kind(size_t ahead = 0) const { return peek(ahead).kind; }
  std::string_view text(const Token& token) const { return list_->text(token); }
  const Source& source() const { return list_->source; }
  /// Where the next token is, or where the part ends.
  size_t offset() const { return list_->tokens[at_].begin; }

  bool at(char symbol, size_t ahead = 0) const { return peek(ahead).symbol == symbol; }
  bool at_word(std::string_view word, size_t ahead = 0) const;
  /// A word or a name in backticks.
  bool at_name(size_t ahead = 0) const;
  /// `name =`, the start of a named argument.
  bool at_assignment() const { return kind() == TokenKind::word && at('=', 1) && !at('=', 2); }

  Token take();
  bool accept(char symbol);
  bool accept_word(std::string_view word);
  void expect(char symbol);
  /// The name here; `what` says in errors what it would be of.
  std::string take_name(std::string_view what);

  /// The part between the bracket here and its match, which this moves past.
  Cursor take_bracketed(char opening);
  /// The part up to the next comma outside brackets, which this moves past, or to the end; `more` is for a comma.
  Cursor take_item(bool& more);
  /// The part up to the next token that starts a line.
  Cursor take_line();
  /// The characters of the whole part, as written; this moves to its end.
  std::string_view take_text();

  [[noreturn]] void fail(std::string_view message) const { source().fail_at(offset(), message); }
  /// "expected `what`, found ..."
  [[noreturn]] void expected(std::string_view what) const;
  /// Fail unless all has been read.
  void expect_done() const;

 private:
  Cursor(const TokenList& list, size_t at, size_t end) : list_(&list), at_(at), end_(end) {}

  const TokenList* list_;
  size_t at_;
  size_t end_;
};

/// The parts between commas; none for an empty part. After a last comma there is one more, which is empty.
std::vector<Cursor> split_items(Cursor part);

}  // namespace tenon::text
