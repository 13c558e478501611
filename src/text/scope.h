// The values that a graph's text has named so far.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/graph.h"
#include "text/cursor.h"

namespace tenon::text {

class Scope {
 public:
  /// `name` is a word, a name in backticks or `%12`. Fail when it is defined already.
  void define(const Cursor& name, const Value& value);

  bool contains(const Cursor& name) const { return values_.contains(key(name)); }
  /// The value of a word or a name in backticks; null when there is none.
  const Value* find(const std::string& name) const;
  /// Fail when there is no such value.
  const Value& at(const Cursor& name) const;

 private:
  /// Tells `%1` from a name that is spelled like that.
  static std::string key(const Cursor& name);

  std::unordered_map<std::string, Value> values_;
};

}  // namespace tenon::text
