// JSON that is read: a value that knows where in its text it stood; and text in JSON, which is UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenon {

/// A value. Objects keep the order of their members.
class JsonValue {
 public:
  using List = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;

  /// Error, with line and column, for what is no JSON: also for text behind the value, a key that is there twice, and
  /// more than 100 levels. `what` names the text in errors ("the header of weights.safetensors").
  static JsonValue parse(std::string_view text, std::string_view what);

  bool is_null() const { return std::holds_alternative<std::monostate>(content_); }
  const bool* boolean() const { return std::get_if<bool>(&content_); }
  const double* number() const { return std::get_if<double>(&content_); }
  const std::string* text() const { return std::get_if<std::string>(&content_); }
  const List* list() const { return std::get_if<List>(&content_); }
  const Object* object() const { return std::get_if<Object>(&content_); }

  /// The member of an object; null where there is none.
  const JsonValue* find(std::string_view key) const;
  /// Whether it is a whole number that 64 bits, and a double, hold exactly; `to` gets it.
  bool integer(int64_t& to) const;

  int line() const { return line_; }  ///< counted from 1

 private:
  friend class JsonReader;
  std::variant<std::monostate, bool, double, std::string, List, Object> content_;
  int line_ = 1;
};

/// The length of the UTF-8 character at the start of `text`, which is not empty and may be anything; 0 where there is
/// none.
size_t utf8_length(std::string_view text);
/// The text with U+FFFD for each byte that is no UTF-8.
std::string valid_utf8(std::string_view text);

/// The text, which is UTF-8, as a JSON string, quotes included.
std::string json_quoted(std::string_view text);

}  // namespace tenon
