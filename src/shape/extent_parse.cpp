// Text to extents.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "shape/extent_names.h"
#include "shape/extent_polynomial.h"
#include "shape/extent_texts.h"
#include "shape/not_an_extent.h"
#include "shape/not_representable.h"

namespace tenon {
namespace {

constexpr std::array<std::string_view, 5> kReserved = {"floordiv", "ceildiv", "mod", "min", "max"};
constexpr int kMaxNesting = 100;
constexpr size_t kMaxText = size_t{1} << 16;

enum class TokenKind { end, number, word, quoted, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // as written
  std::string name;       // of a quoted name, without its escapes
  size_t column = 1;
};

/// Recursive descent, one function for each level of precedence. `parts` may be null.
class Parser {
 public:
  explicit Parser(std::string_view text, std::unordered_map<std::string_view, ExtentTexts::Part>* parts = nullptr)
      : text_(text), parts_(parts) {
    advance();
  }

  Extent whole() {
    Extent e = sum();
    if (token_.kind != TokenKind::end) {
      expected("an operator or the end");
    }
    return e;
  }

 private:
  [[noreturn]] void wrong(size_t column, const std::string& what) const {
    constexpr size_t kLongest = 200;
    const std::string shown(text_.substr(0, kLongest));
    throw NotAnExtent(
        fmt::format("extent \"{}{}\", column {}: {}", shown, text_.size() > kLongest ? "..." : "", column, what));
  }

  [[noreturn]] void expected(std::string_view what) const {
    const std::string found = token_.kind == TokenKind::end ? "the end" : fmt::format("\"{}\"", token_.text);
    wrong(token_.column, fmt::format("expected {}, found {}", what, found));
  }

  void advance() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
    token_ = Token{};
    const size_t begin = at_;
    token_.column = begin + 1;
    if (begin == text_.size()) {
      return;
    }
    const char c = text_[at_++];
    if (c >= '0' && c <= '9') {
      token_.kind = TokenKind::number;
      take_while([](char d) { return d >= '0' && d <= '9'; });
    } else if (algebra::starts_name(c)) {
      token_.kind = TokenKind::word;
      take_while(algebra::continues_name);
    } else if (c == '`') {
      token_.kind = TokenKind::quoted;
      quoted(begin + 1);
    } else {
      token_.kind = TokenKind::symbol;
    }
    token_.text = text_.substr(begin, at_ - begin);
  }

  template <class Predicate>
  void take_while(Predicate predicate) {
    while (at_ < text_.size() && predicate(text_[at_])) {
      ++at_;
    }
  }

  void quoted(size_t column) {
    for (;; ++at_) {
      if (at_ == text_.size()) {
        wrong(column, "a name in backticks has no end");
      }
      if (text_[at_] == '`') {
        break;
      }
      if (text_[at_] == '\\') {
        ++at_;
        if (at_ == text_.size() || (text_[at_] != '`' && text_[at_] != '\\')) {
          wrong(at_, "only \\` and \\\\ are escapes in a name");
        }
      }
      token_.name += text_[at_];
    }
    ++at_;
    if (token_.name.empty()) {
      wrong(column, "the name of an axis is empty");
    }
  }

  bool at(std::string_view text) const {
    return (token_.kind == TokenKind::word || token_.kind == TokenKind::symbol) && token_.text == text;
  }

  bool accept(std::string_view text) {
    const bool found = at(text);
    if (found) {
      advance();
    }
    return found;
  }

  void expect(std::string_view text) {
    if (!accept(text)) {
      expected(fmt::format("\"{}\"", text));
    }
  }

  /// Errors of the algebra (overflow, division by zero, limits) get the place at which they came up.
  template <class F>
  Extent located(size_t column, F operation) const {
    try {
      return operation();
    } catch (const NotRepresentable& error) {
      wrong(column, error.what());
    }
  }

  Extent sum() {
    Extent left = product();
    while (at("+") || at("-")) {
      const bool plus = at("+");
      const size_t column = token_.column;
      advance();
      const Extent right = product();
      left = located(column, [&] { return plus ? left + right : left - right; });
    }
    return left;
  }

  Extent product() {
    using Operation = Extent (*)(const Extent&, const Extent&);
    Extent left = unary();
    for (;;) {
      const Operation operation = at("*")          ? Operation([](const Extent& a, const Extent& b) { return a * b; })
                                  : at("floordiv") ? &floordiv
                                  : at("ceildiv")  ? &ceildiv
                                  : at("mod")      ? &mod
                                                   : Operation(nullptr);
      if (at("/")) {
        wrong(token_.column, "sizes are whole numbers: `floordiv` rounds down, `ceildiv` up");
      }
      if (operation == nullptr) {
        return left;
      }
      const size_t column = token_.column;
      advance();
      const Extent right = unary();
      left = located(column, [&] { return operation(left, right); });
    }
  }

  Extent unary() {
    bool negative = false;
    size_t column = token_.column;
    while (at("-")) {
      negative = !negative;
      column = token_.column;
      advance();
    }
    if (token_.kind == TokenKind::number) {
      return number(negative);
    }
    Extent value = primary();
    return negative ? located(column, [&] { return -value; }) : value;
  }

  Extent number(bool negative) {
    const std::string text = (negative ? "-" : "") + std::string(token_.text);
    int64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) {
      wrong(token_.column, "the number does not fit 64 bits");
    }
    advance();
    return value;
  }

  Extent primary() {
    if (token_.kind == TokenKind::quoted || (token_.kind == TokenKind::word && !algebra::is_reserved(token_.text))) {
      Extent e = Extent::name(token_.kind == TokenKind::quoted ? std::string_view(token_.name) : token_.text);
      advance();
      return e;
    }
    if (!at("(") && !at("min") && !at("max")) {
      expected("a value");
    }
    if (++nesting_ > kMaxNesting) {
      wrong(token_.column, fmt::format("more than {} parentheses inside each other", kMaxNesting));
    }
    Extent e = parts_ ? part() : parentheses();
    --nesting_;
    return e;
  }

  Extent parentheses() { return at("(") ? group() : extremum(); }

  /// The same, which is remembered by its text.
  Extent part() {
    const size_t begin = token_.column - 1;
    const std::string_view text = text_.substr(begin, end_of_parentheses(begin) - begin);
    if (const auto known = parts_->find(text);
        known != parts_->end() && nesting_ + known->second.nesting <= kMaxNesting) {
      deepest_ = std::max(deepest_, nesting_ + known->second.nesting);
      at_ = begin + text.size();
      advance();
      return known->second.extent;
    }
    const int deepest_before = std::exchange(deepest_, nesting_);
    Extent e = parentheses();
    parts_->insert_or_assign(text, ExtentTexts::Part{.extent = e, .nesting = deepest_ - nesting_});
    deepest_ = std::max(deepest_, deepest_before);
    return e;
  }

  /// Behind the parenthesis that closes the first one from `at` on, or the end of the text.
  size_t end_of_parentheses(size_t at) const {
    int open = 0;
    for (bool in_name = false; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == '`') {
        in_name = !in_name;
      } else if (in_name) {
        at += c == '\\' ? 1 : 0;
      } else if (c == '(') {
        ++open;
      } else if (c == ')' && --open <= 0) {
        return at + 1;
      }
    }
    return text_.size();
  }

  Extent group() {
    expect("(");
    Extent e = sum();
    expect(")");
    return e;
  }

  Extent extremum() {
    const bool is_min = at("min");
    advance();
    expect("(");
    Extent e = sum();
    while (at(",")) {
      const size_t column = token_.column;
      advance();
      const Extent next = sum();
      e = located(column, [&] { return is_min ? min(e, next) : max(e, next); });
    }
    expect(")");
    return e;
  }

  std::string_view text_;
  std::unordered_map<std::string_view, ExtentTexts::Part>* parts_;
  size_t at_ = 0;
  Token token_;
  int nesting_ = 0;
  int deepest_ = 0;  // that it was, in the part that is being read
};

}  // namespace

bool algebra::is_reserved(std::string_view word) {
  return std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end();
}

std::string algebra::quoted_name(std::string_view name) {
  const bool bare = !name.empty() && starts_name(name[0]) && std::all_of(name.begin(), name.end(), continues_name) &&
                    !is_reserved(name);
  if (bare) {
    return std::string(name);
  }
  std::string text = "`";
  for (const char c : name) {
    if (c == '`' || c == '\\') {
      text += '\\';
    }
    text += c;
  }
  return text + "`";
}

namespace {

void require_short(std::string_view text) {
  if (text.size() > kMaxText) {
    throw NotAnExtent(
        fmt::format("the text of an extent has {} characters; at most {} are read", text.size(), kMaxText));
  }
}

}  // namespace

Extent Extent::parse(std::string_view text) {
  require_short(text);
  return Parser(text).whole();
}

const Extent& ExtentTexts::parse(std::string_view text) {
  if (const auto known = wholes_.find(text); known != wholes_.end()) {
    return known->second;
  }
  require_short(text);
  const std::string_view kept = texts_.emplace_back(text);
  return wholes_.emplace(kept, Parser(kept, &parts_).whole()).first->second;
}

}  // namespace tenon
