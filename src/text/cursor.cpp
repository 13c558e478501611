#include "text/cursor.h"

#include <fmt/format.h>

namespace tenon::text {
namespace {

constexpr size_t kLongestFound = 40;

}  // namespace

Token Cursor::peek(size_t ahead) const {
  if (end_ - at_ > ahead) {
    return list_->tokens[at_ + ahead];
  }
  const uint32_t offset = list_->tokens[end_].begin;
  return {.begin = offset, .end = offset, .starts_line = true};
}

bool Cursor::at_word(std::string_view word, size_t ahead) const {
  const Token token = peek(ahead);
  return token.kind == TokenKind::word && text(token) == word;
}

bool Cursor::at_name(size_t ahead) const {
  const TokenKind found = kind(ahead);
  return found == TokenKind::word || found == TokenKind::quoted;
}

Token Cursor::take() {
  const Token token = peek();
  at_ += done() ? 0U : 1U;
  return token;
}

bool Cursor::accept(char symbol) {
  const bool found = at(symbol);
  at_ += found ? 1U : 0U;
  return found;
}

bool Cursor::accept_word(std::string_view word) {
  const bool found = at_word(word);
  at_ += found ? 1U : 0U;
  return found;
}

void Cursor::expect(char symbol) {
  if (!accept(symbol)) {
    expected(fmt::format("`{}`", symbol));
  }
}

std::string Cursor::take_name(std::string_view what) {
  if (!at_name()) {
    expected(what);
  }
  const Token token = take();
  return token.kind == TokenKind::word ? std::string(text(token)) : unquoted(text(token));
}

Cursor Cursor::take_bracketed(char opening) {
  if (!at(opening)) {
    expected(fmt::format("`{}`", opening));
  }
  const size_t close = peek().match;
  const Cursor inside(*list_, at_ + 1, close);
  at_ = close + 1;
  return inside;
}

Cursor Cursor::take_item(bool& more) {
  const size_t begin = at_;
  while (!done() && !at(',')) {
    const Token token = peek();
    at_ = token.symbol == '(' || token.symbol == '[' || token.symbol == '{' ? token.match + 1 : at_ + 1;
  }
  const Cursor item(*list_, begin, at_);
  more = accept(',');
  return item;
}

Cursor Cursor::take_line() {
  const size_t begin = at_;
  take();
  while (!done() && !peek().starts_line) {
    ++at_;
  }
  return {*list_, begin, at_};
}

std::string_view Cursor::take_text() {
  if (done()) {
    return {};
  }
  const size_t begin = offset();
  at_ = end_;
  return source().text().substr(begin, list_->tokens[end_ - 1].end - begin);
}

void Cursor::expected(std::string_view what) const {
  const Token& found = list_->tokens[at_];
  if (found.kind == TokenKind::end) {
    fail(fmt::format("expected {}, found the end of the text", what));
  }
  const std::string_view shown = text(found);
  const std::string_view mark = found.kind == TokenKind::quoted ? "" : "`";
  fail(fmt::format("expected {}, found {}{}{}{}", what, mark, shown.substr(0, kLongestFound),
                   shown.size() > kLongestFound ? "..." : "", mark));
}

void Cursor::expect_done() const {
  if (!done()) {
    expected("the end of this part");
  }
}

std::vector<Cursor> split_items(Cursor part) {
  std::vector<Cursor> items;
  bool more = !part.done();
  while (more) {
    items.push_back(part.take_item(more));
  }
  return items;
}

}  // namespace tenon::text
