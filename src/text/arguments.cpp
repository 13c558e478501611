#include "text/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/suggest.h"

namespace tenon::text {

Arguments::Arguments(Cursor inside) {
  for (const Cursor& item : split_items(inside)) {
    Argument argument{.name = {}, .start = item, .content = item};
    if (item.done()) {
      item.expected("an argument");
    }
    if (item.at_assignment()) {
      argument.name = item.text(argument.content.take());
      argument.content.expect('=');
      if (std::ranges::find(arguments_, argument.name, &Argument::name) != arguments_.end()) {
        item.fail(fmt::format("`{}` is given twice", argument.name));
      }
    } else if (!arguments_.empty() && !arguments_.back().name.empty()) {
      item.fail("an argument without a name stands after a named one");
    }
    arguments_.push_back(argument);
  }
}

const Cursor* Arguments::peek() const {
  return next_ < arguments_.size() && arguments_[next_].name.empty() ? &arguments_[next_].content : nullptr;
}

Cursor Arguments::take_next() {
  Argument& argument = arguments_[next_++];
  argument.taken = true;
  return argument.content;
}

std::optional<Cursor> Arguments::take(std::string_view name) {
  if (peek() != nullptr) {
    return take_next();
  }
  const auto found = std::ranges::find(arguments_, name, &Argument::name);
  if (found == arguments_.end()) {
    return std::nullopt;
  }
  found->taken = true;
  return found->content;
}

void Arguments::finish(std::string_view operation, const std::vector<std::string>& names) const {
  const auto left = std::ranges::find(arguments_, false, &Argument::taken);
  if (left == arguments_.end()) {
    return;
  }
  if (left->name.empty()) {
    left->start.fail(fmt::format("{} takes no further argument", operation));
  }
  if (std::ranges::find(names, left->name) != names.end()) {
    left->start.fail(fmt::format("`{}` is given twice", left->name));
  }
  left->start.fail(
      fmt::format("{} has no argument called `{}`{}", operation, left->name, suggestion(left->name, names)));
}

bool starts_operand(const Cursor& cursor) { return cursor.at_name() || cursor.kind() == TokenKind::value; }

}  // namespace tenon::text
