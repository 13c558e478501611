// The words of a graph text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/source.h"

namespace tenon::text {

enum class TokenKind : uint8_t {
  end,
  word,    // reduce, batch, x.0
  quoted,  // `a name`
  value,   // %12
  number,  // 12, 1.5e-3; a sign is a symbol of its own
  string,  // "a place"
  data,    // {1, 2, 3}: the elements of an array, from brace to brace
  symbol,  // any other single character
};

/// Offsets are bytes of the text.
struct Token {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t match = 0;  // of a bracket: the index of the token that closes or opens it
  TokenKind kind = TokenKind::end;
  char symbol = 0;
  bool starts_line = false;  // nothing but blanks and comments since a line break
};

/// Brackets match, and the last token is the end.
struct TokenList {
  Source source;
  std::vector<Token> tokens;

  std::string_view text(const Token& token) const { return source.text().substr(token.begin, token.end - token.begin); }
};

/// Errors: a character that belongs to nothing, a name or string without an end, brackets that do not match.
TokenList lex(std::string_view text);

/// What stands between the quotes, without escapes.
std::string unquoted(std::string_view token_text);
/// `"..."` with escapes for quotes, backslashes and line breaks.
std::string quoted_string(std::string_view text);

}  // namespace tenon::text
