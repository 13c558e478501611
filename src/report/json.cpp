#include "report/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/json.h"

namespace tenon::report {

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
