#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "base/fail.h"

namespace tenon {

/// Reads one text from front to back.
class JsonReader {
 public:
  JsonReader(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  JsonValue read_all() {
    JsonValue value = read_value(0);
    skip_space();
    if (at_ < text_.size()) {
      refuse("there is more behind its end");
    }
    return value;
  }

 private:
  static constexpr int kMostLevels = 100;

  [[noreturn]] void refuse(std::string_view why) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = 1 + std::ranges::count(before, '\n');
    const size_t start = before.find_last_of('\n');
    const size_t column = start == std::string_view::npos ? at_ + 1 : at_ - start;
    fail("{} is no JSON: {}, in line {}, column {}", what_, why, line, column);
  }

  int line() {
    for (; counted_ < at_; ++counted_) {
      line_ += text_[counted_] == '\n';
    }
    return line_;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r')) {
      ++at_;
    }
  }

  void expect(char wanted) {
    skip_space();
    if (at_ >= text_.size() || peek() != wanted) {
      refuse(fmt::format("`{}` is missing", wanted));
    }
    ++at_;
  }

  bool take(char wanted) {
    skip_space();
    if (at_ < text_.size() && peek() == wanted) {
      ++at_;
      return true;
    }
    return false;
  }

  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  JsonValue read_value(int level) {
    if (level > kMostLevels) {
      refuse("it is nested too deeply");
    }
    skip_space();
    JsonValue value;
    value.line_ = line();
    if (peek() == '{') {
      value.content_ = read_object(level);
    } else if (peek() == '[') {
      value.content_ = read_list(level);
    } else if (peek() == '"') {
      value.content_ = read_string();
    } else if (take_word("true")) {
      value.content_ = true;
    } else if (take_word("false")) {
      value.content_ = false;
    } else if (!take_word("null")) {
      value.content_ = read_number();
    }
    return value;
  }

  JsonValue::Object read_object(int level) {
    JsonValue::Object object;
    std::unordered_set<std::string> keys;
    expect('{');
    if (take('}')) {
      return object;
    }
    do {
      skip_space();
      if (peek() != '"') {
        refuse("a key in quotes is missing");
      }
      std::string key = read_string();
      if (!keys.insert(key).second) {
        refuse(fmt::format("the key `{}` is there twice", key));
      }
      expect(':');
      object.emplace_back(std::move(key), read_value(level + 1));
    } while (take(','));
    expect('}');
    return object;
  }

  JsonValue::List read_list(int level) {
    JsonValue::List list;
    expect('[');
    if (take(']')) {
      return list;
    }
    do {
      list.push_back(read_value(level + 1));
    } while (take(','));
    expect(']');
    return list;
  }

  double read_number() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    const char* first = begin;
    first += first < end && *first == '-';
    if (first == end || *first < '0' || *first > '9' ||
        (*first == '0' && first + 1 < end && first[1] >= '0' && first[1] <= '9')) {
      refuse("a value is missing");
    }
    double number = 0;
    const auto [stop, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || !std::isfinite(number)) {
      refuse("a number is none, or too large");
    }
    at_ += static_cast<size_t>(stop - begin);
    return number;
  }

  uint32_t read_hex() {
    uint32_t code = 0;
    if (at_ + 4 > text_.size()) {
      refuse("a string does not end");
    }
    const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, code, 16);
    if (error != std::errc() || stop != text_.data() + at_ + 4) {
      refuse("`\\u` needs four digits");
    }
    at_ += 4;
    return code;
  }

  static void append_utf8(std::string& to, uint32_t code) {
    if (code < 0x80) {
      to += static_cast<char>(code);
    } else if (code < 0x800) {
      to += static_cast<char>(0xC0 | (code >> 6));
      to += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      to += static_cast<char>(0xE0 | (code >> 12));
      to += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
      to += static_cast<char>(0x80 | (code & 0x3F));
    } else {
      to += static_cast<char>(0xF0 | (code >> 18));
      to += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
      to += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
      to += static_cast<char>(0x80 | (code & 0x3F));
    }
  }

  void read_escape(std::string& to) {
    const char escaped = peek();
    ++at_;
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t found = kLetters.find(escaped); found != std::string_view::npos && escaped != '\0') {
      to += kMeanings[found];
      return;
    }
    if (escaped != 'u') {
      refuse("a string has an escape that is none");
    }
    uint32_t code = read_hex();
    if (code >= 0xD800 && code < 0xDC00 && take_word("\\u")) {
      const uint32_t low = read_hex();
      if (low < 0xDC00 || low > 0xDFFF) {
        refuse("half of a surrogate pair is missing");
      }
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xD800 && code < 0xE000) {
      refuse("half of a surrogate pair is missing");
    }
    append_utf8(to, code);
  }

  std::string read_string() {
    std::string result;
    ++at_;  // the quote
    for (;;) {
      if (at_ >= text_.size()) {
        refuse("a string does not end");
      }
      const char next = text_[at_];
      if (next == '"') {
        ++at_;
        return result;
      }
      if (static_cast<unsigned char>(next) < 0x20) {
        refuse("a string has a control character");
      }
      ++at_;
      if (next == '\\') {
        read_escape(result);
      } else {
        result += next;
      }
    }
  }

  std::string_view text_;
  std::string_view what_;
  size_t at_ = 0;
  size_t counted_ = 0;
  int line_ = 1;
};

JsonValue JsonValue::parse(std::string_view text, std::string_view what) { return JsonReader(text, what).read_all(); }

const JsonValue* JsonValue::find(std::string_view key) const {
  const Object* members = object();
  if (members == nullptr) {
    return nullptr;
  }
  const auto found =
      std::ranges::find(*members, key, [](const auto& member) { return std::string_view(member.first); });
  return found == members->end() ? nullptr : &found->second;
}

bool JsonValue::integer(int64_t& to) const {
  const double* value = number();
  if (value == nullptr || *value != std::floor(*value) || std::abs(*value) > 9007199254740992.0) {
    return false;
  }
  to = static_cast<int64_t>(*value);
  return true;
}

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : 4;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || length > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  // Characters that have a shorter form, halves of pairs, and what lies beyond the last one.
  const unsigned char next = length > 2 ? byte(1) : 0x80;
  const bool wrong = (lead == 0xe0 && next < 0xa0) || (lead == 0xed && next >= 0xa0) || (lead == 0xf0 && next < 0x90) ||
                     (lead == 0xf4 && next >= 0x90);
  return wrong ? 0 : length;
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    result += length == 0 ? "\xef\xbf\xbd" : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

std::string json_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      case '\n': result += "\\n"; break;
      case '\t': result += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          result += c;
        }
    }
  }
  return result + '"';
}

}  // namespace tenon
