#include "text/scope.h"

#include <fmt/format.h>

#include "text/suggest.h"

namespace tenon::text {

std::string Scope::key(const Cursor& name) {
  if (name.kind() == TokenKind::value) {
    return std::string(name.text(name.peek()));
  }
  Cursor cursor = name;
  return "$" + cursor.take_name("a name");
}

void Scope::define(const Cursor& name, const Value& value) {
  if (!values_.emplace(key(name), value).second) {
    name.fail(fmt::format("`{}` is defined twice", name.text(name.peek())));
  }
}

const Value* Scope::find(const std::string& name) const {
  const auto found = values_.find("$" + name);
  return found == values_.end() ? nullptr : &found->second;
}

const Value& Scope::at(const Cursor& name) const {
  const std::string wanted = key(name);
  const auto found = values_.find(wanted);
  if (found != values_.end()) {
    return found->second;
  }
  if (wanted[0] == '%') {
    name.fail(fmt::format("`{}` is not defined", wanted));
  }
  std::vector<std::string> names;
  for (const auto& [known, value] : values_) {
    if (known[0] == '$') {
      names.push_back(known.substr(1));
    }
  }
  const std::string shown = wanted.substr(1);
  name.fail(fmt::format("there is no value called `{}`{}", shown, suggestion(shown, names)));
}

}  // namespace tenon::text
