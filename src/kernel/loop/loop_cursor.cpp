#include "kernel/loop/loop_cursor.h"

#include <algorithm>
#include <charconv>

#include "base/fail.h"
#include "shape/extent_names.h"

namespace tenon::loops {
namespace {

constexpr size_t kLongestShown = 60;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word(std::string_view text) {
  return !text.empty() && algebra::starts_name(text[0]) && std::ranges::all_of(text, algebra::continues_name);
}

}  // namespace

std::string_view Summand::word() const { return is_word(factor) ? factor : std::string_view(); }

bool LineCursor::accept(std::string_view literal) {
  const bool found = at(literal);
  at_ += found ? literal.size() : 0;
  return found;
}

void LineCursor::expect(std::string_view literal) {
  if (!accept(literal)) {
    expected(fmt::format("`{}`", literal));
  }
}

void LineCursor::expect_done() const {
  if (!done()) {
    expected("the end of the line");
  }
}

int64_t LineCursor::take_natural() {
  int64_t value = 0;
  const std::string_view text = rest();
  if (text.empty() || !is_digit(text[0])) {
    expected("a number");
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) {
    fail("the number does not fit 64 bits");
  }
  at_ += static_cast<size_t>(end - text.data());
  return value;
}

int LineCursor::take_index(char letter) {
  const size_t begin = at_;
  if (!at(std::string_view(&letter, 1)) || rest().size() < 2 || !is_digit(rest()[1])) {
    expected(fmt::format("`{}` and a number", letter));
  }
  ++at_;
  const int64_t index = take_natural();
  if (index > kMostIndex) {
    fail_at(begin, fmt::format("there are at most {} of `{}`", kMostIndex, letter));
  }
  return static_cast<int>(index);
}

double LineCursor::take_number() {
  double value = 0;
  const std::string_view text = rest();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) {
    expected("a number");
  }
  at_ += static_cast<size_t>(end - text.data());
  return value;
}

std::string_view LineCursor::take_word(std::string_view what) {
  const std::string_view text = rest();
  const auto end = std::ranges::find_if_not(text, algebra::continues_name);
  const std::string_view word = text.substr(0, static_cast<size_t>(end - text.begin()));
  if (!is_word(word)) {
    expected(what);
  }
  at_ += word.size();
  return word;
}

Extent LineCursor::take_extent() {
  const size_t begin = at_;
  skip_extent();
  return extent(std::string(text_.substr(begin, at_ - begin)), begin);
}

std::vector<Summand> LineCursor::take_sum() {
  std::vector<Summand> sum;
  bool negative = false;
  do {
    const size_t begin = at_;
    const size_t factor = skip_extent();
    const std::string sign = negative ? "-" : "";
    Summand summand{.whole = sign + std::string(text_.substr(begin, at_ - begin)), .at = begin};
    if (factor != std::string_view::npos) {
      summand.scale = sign + std::string(text_.substr(begin, factor - begin));
      summand.factor = text_.substr(factor, at_ - factor);
    }
    sum.push_back(std::move(summand));
    negative = at(" - ");
  } while (accept(" + ") || accept(" - "));
  return sum;
}

Extent LineCursor::extent(const std::string& text, size_t at) const {
  try {
    return Extent::parse(text);
  } catch (const Error& error) {
    fail_at(at, error.what());
  }
}

LineCursor LineCursor::part(size_t begin, size_t end) const {
  LineCursor result(text_.substr(0, end), number_);
  result.at_ = begin;
  return result;
}

void LineCursor::fail_at(size_t column, std::string_view message) const {
  tenon::fail("kernel text, line {}, column {}: {}", number_, column + 1, message);
}

void LineCursor::expected(std::string_view what) const {
  const std::string_view found = rest();
  fail(fmt::format("expected {}, found {}", what,
                   found.empty() ? "the end of the line"
                                 : fmt::format("`{}{}`", found.substr(0, kLongestShown),
                                               found.size() > kLongestShown ? "..." : "")));
}

// Inside of extents + and - have no spaces around them, so they end before those of a sum of axes.
size_t LineCursor::skip_extent() {
  size_t factor = std::string_view::npos;
  bool is_product = true;
  for (bool more = true; more;) {
    while (accept("-")) {
    }
    factor = at_;
    skip_operand();
    if (!accept("*")) {
      more = accept("+") || at("-") || accept(" floordiv ") || accept(" ceildiv ") || accept(" mod ");
      is_product = is_product && !more;
    }
  }
  return is_product ? factor : std::string_view::npos;
}

void LineCursor::skip_operand() {
  if (at("`")) {
    skip_quoted();
  } else if (at("(")) {
    skip_parentheses();
  } else if (!done() && is_digit(rest()[0])) {
    while (!done() && is_digit(rest()[0])) {
      ++at_;
    }
  } else {
    const std::string_view word = take_word("a size");
    if ((word == "min" || word == "max") && at("(")) {
      skip_parentheses();
    }
  }
}

void LineCursor::skip_quoted() {
  const size_t begin = at_++;
  for (bool escaped = false; !done(); ++at_) {
    const char c = text_[at_];
    if (c == '`' && !escaped) {
      ++at_;
      return;
    }
    escaped = c == '\\' && !escaped;
  }
  fail_at(begin, "a name in backticks has no end");
}

void LineCursor::skip_parentheses() {
  const size_t begin = at_;
  int depth = 0;
  while (!done()) {
    if (at("`")) {
      skip_quoted();
      continue;
    }
    const char c = text_[at_++];
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0) {
      return;
    }
  }
  fail_at(begin, "a parenthesis has no end");
}

}  // namespace tenon::loops
