#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "shape/extent_names.h"
#include "text/token.h"

namespace tenon::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text), list_{Source(text), {}} {}

  TokenList run() {
    while (skip_blanks()) {
      begin_ = at_;
      const TokenKind kind = next();
      add(kind);
      match_brackets();
      starts_line_ = false;
    }
    if (!open_.empty()) {
      const Token& opening = list_.tokens[open_.back()];
      fail(opening.begin, fmt::format("`{}` is never closed", opening.symbol));
    }
    begin_ = at_;
    starts_line_ = true;
    add(TokenKind::end);
    return std::move(list_);
  }

 private:
  [[noreturn]] void fail(size_t offset, std::string_view message) const { list_.source.fail_at(offset, message); }

  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  /// False at the end.
  bool skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c == '\n') {
        starts_line_ = true;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return true;
      }
    }
    return false;
  }

  TokenKind next() {
    const char c = text_[at_++];
    if (algebra::starts_name(c)) {
      take_while(algebra::continues_name);
      return TokenKind::word;
    }
    if (is_digit(c)) {
      number();
      return TokenKind::number;
    }
    if (c == '%' && is_digit(peek())) {
      take_while(is_digit);
      return TokenKind::value;
    }
    if (c == '`' || c == '"') {
      quoted(c);
      return c == '`' ? TokenKind::quoted : TokenKind::string;
    }
    // Only an array literal has a brace after its dimensions. Its elements are one token, for there may be millions.
    if (c == '{' && !list_.tokens.empty() && list_.tokens.back().symbol == ']') {
      const size_t end = text_.find('}', at_);
      if (end == std::string_view::npos) {
        fail(begin_, "`{` is never closed");
      }
      at_ = end + 1;
      return TokenKind::data;
    }
    if (c <= ' ' || c > '~') {
      fail(begin_, "this character belongs into backticks or quotes");
    }
    return TokenKind::symbol;
  }

  template <class Predicate>
  void take_while(Predicate predicate) {
    while (at_ < text_.size() && predicate(text_[at_])) {
      ++at_;
    }
  }

  void number() {
    take_while(is_digit);
    if (peek() == '.' && is_digit(peek(1))) {
      ++at_;
      take_while(is_digit);
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
      at_ += 1 + sign;
      take_while(is_digit);
    }
  }

  void quoted(char quote) {
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      at_ += text_[at_] == '\\' ? 1U : 0U;
    }
    if (at_ >= text_.size()) {
      fail(begin_, quote == '`' ? "a name in backticks has no end" : "a string has no end");
    }
    ++at_;
  }

  void add(TokenKind kind) {
    list_.tokens.push_back({.begin = static_cast<uint32_t>(begin_),
                            .end = static_cast<uint32_t>(at_),
                            .kind = kind,
                            .symbol = kind == TokenKind::symbol ? text_[begin_] : '\0',
                            .starts_line = starts_line_});
  }

  void match_brackets() {
    const auto index = static_cast<uint32_t>(list_.tokens.size() - 1);
    Token& token = list_.tokens.back();
    const char c = token.symbol;
    if (c == '(' || c == '[' || c == '{') {
      open_.push_back(index);
    } else if (c == ')' || c == ']' || c == '}') {
      const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (open_.empty()) {
        fail(token.begin, fmt::format("`{}` closes nothing", c));
      }
      Token& opening = list_.tokens[open_.back()];
      if (opening.symbol != wanted) {
        fail(token.begin, fmt::format("`{}` cannot close `{}`", c, opening.symbol));
      }
      opening.match = index;
      token.match = open_.back();
      open_.pop_back();
    }
  }

  std::string_view text_;
  TokenList list_;
  std::vector<uint32_t> open_;  // brackets that wait for their end
  size_t at_ = 0;
  size_t begin_ = 0;  // of the token at hand
  bool starts_line_ = true;
};

}  // namespace

TokenList lex(std::string_view text) {
  if (text.size() >= std::numeric_limits<uint32_t>::max()) {
    tenon::fail("a graph text of {} bytes is too long; at most 4 GiB are read", text.size());
  }
  return Lexer(text).run();
}

std::string unquoted(std::string_view token_text) {
  std::string result;
  for (size_t i = 1; i + 1 < token_text.size(); ++i) {
    const bool escaped = token_text[i] == '\\';
    i += escaped ? 1U : 0U;
    const char c = token_text[i];
    result += escaped && token_text[0] == '"' && c == 'n'   ? '\n'
              : escaped && token_text[0] == '"' && c == 'r' ? '\r'
                                                            : c;
  }
  return result;
}

std::string quoted_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      result += c == '\n' ? "\\n" : "\\r";
      continue;
    }
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result + '"';
}

}  // namespace tenon::text
