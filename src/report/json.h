// JSON, written: what `--json` prints.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::report {

/// A JSON value as its text. Members keep the order in which they were set. What is no number (NaN, infinities) becomes
/// null; bytes that are no UTF-8 become U+FFFD.
class Json {
 public:
  Json() : text_("null") {}
  Json(std::string_view text);  // NOLINT(google-explicit-constructor): `json.set("name", name)` must read like that
  Json(const std::string& text) : Json(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Json(const char* text) : Json(std::string_view(text)) {}         // NOLINT(google-explicit-constructor)
  Json(double number);                                             // NOLINT(google-explicit-constructor)
  template <std::integral T>
  Json(T number) : text_(integer(number)) {}  // NOLINT(google-explicit-constructor)
  template <class T>
  Json(const std::vector<T>& items) : Json(array()) {  // NOLINT(google-explicit-constructor)
    for (const T& item : items) {
      push(item);
    }
  }

  static Json object() { return Json(Kind::object); }
  static Json array() { return Json(Kind::array); }

  Json& set(std::string_view name, const Json& value);
  Json& push(const Json& value);

  std::string to_string() const;
  /// With a line break, to standard output.
  void print() const;

 private:
  enum class Kind : uint8_t { scalar, object, array };
  explicit Json(Kind kind) : kind_(kind) {}
  static std::string integer(bool value) { return value ? "true" : "false"; }
  template <std::integral T>
  static std::string integer(T value) {
    return std::to_string(value);
  }

  Kind kind_ = Kind::scalar;
  std::string text_;  // of an object or an array, what stands between the brackets
};

}  // namespace tenon::report
