// JSON objects by their fields: each is known, and each that is needed is there.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "base/json.h"

namespace tenon::partition {

/// An object of a file, read field by field. Errors begin with the file and the line.
class JsonFields {
 public:
  /// Error: it is no object; it has a field that is not among `known`.
  JsonFields(const JsonValue& value, std::string what, std::initializer_list<std::string_view> known)
      : value_(value), what_(std::move(what)) {
    if (value.object() == nullptr) {
      fail("{}:{}: must be an object", what_, value.line());
    }
    for (const auto& [key, member] : *value.object()) {
      bool found = false;
      for (const std::string_view each : known) {
        found |= each == key;
      }
      if (!found) {
        fail("{}:{}: there is no field `{}`; there is: {}", what_, member.line(), key, fmt::join(known, ", "));
      }
    }
  }

  const JsonValue* find(std::string_view key) const { return value_.find(key); }
  const JsonValue& at(std::string_view key) const {
    const JsonValue* found = value_.find(key);
    if (found == nullptr) {
      fail("{}:{}: the field `{}` is missing", what_, value_.line(), key);
    }
    return *found;
  }

  std::string text(std::string_view key) const {
    const JsonValue& value = at(key);
    if (value.text() == nullptr) {
      fail("{}:{}: `{}` must be a text", what_, value.line(), key);
    }
    return *value.text();
  }
  int64_t integer(std::string_view key, int64_t least) const {
    const JsonValue& value = at(key);
    int64_t number = 0;
    if (!value.integer(number) || number < least) {
      fail("{}:{}: `{}` must be a whole number, at least {}", what_, value.line(), key, least);
    }
    return number;
  }
  bool boolean(std::string_view key) const {
    const JsonValue& value = at(key);
    if (value.boolean() == nullptr) {
      fail("{}:{}: `{}` must be true or false", what_, value.line(), key);
    }
    return *value.boolean();
  }
  double number(std::string_view key) const {
    const JsonValue& value = at(key);
    if (value.number() == nullptr || !(*value.number() >= 0)) {
      fail("{}:{}: `{}` must be a number, not negative", what_, value.line(), key);
    }
    return *value.number();
  }
  double positive(std::string_view key) const {
    const double value = number(key);
    if (value == 0) {
      fail("{}:{}: `{}` must be more than 0", what_, at(key).line(), key);
    }
    return value;
  }
  double number_or(std::string_view key, double otherwise) const {
    return find(key) == nullptr ? otherwise : number(key);
  }
  const JsonValue::List& list(std::string_view key) const {
    const JsonValue& value = at(key);
    if (value.list() == nullptr) {
      fail("{}:{}: `{}` must be a list", what_, value.line(), key);
    }
    return *value.list();
  }

  int line() const { return value_.line(); }
  const std::string& what() const { return what_; }

 private:
  const JsonValue& value_;
  std::string what_;
};

}  // namespace tenon::partition
