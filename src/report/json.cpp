#include "report/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

namespace tenon::report {
namespace {

/// The length of the UTF-8 character at the start of `text`; 0 where there is none.
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

}  // namespace

Json::Json(std::string_view text) : text_("\"") {
  while (!text.empty()) {
    const char c = text[0];
    const size_t length = utf8_length(text);
    if (length == 0) {
      text_ += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      text_ += {'\\', c};
    } else if (c == '\n') {
      text_ += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      text_ += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

Json::Json(double number) : text_(std::isfinite(number) ? fmt::format("{}", number) : "null") {}

Json& Json::set(std::string_view name, const Json& value) {
  text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", Json(name).to_string(), value.to_string());
  return *this;
}

Json& Json::push(const Json& value) {
  text_ += fmt::format("{}{}", text_.empty() ? "" : ", ", value.to_string());
  return *this;
}

std::string Json::to_string() const {
  switch (kind_) {
    case Kind::scalar: return text_;
    case Kind::object: return '{' + text_ + '}';
    case Kind::array: return '[' + text_ + ']';
  }
  return text_;
}

void Json::print() const { fmt::print("{}\n", to_string()); }

}  // namespace tenon::report
