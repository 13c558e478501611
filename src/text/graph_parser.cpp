#include "text/graph_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "text/field_parse.h"

namespace tenon::text {
namespace {

/// Whether the word here begins a statement of its own; otherwise it is a name that is being defined.
bool at_keyword(const Cursor& cursor, std::string_view word) {
  return cursor.at_word(word) && !cursor.at('=', 1) && !cursor.at(':', 1) && !cursor.at(',', 1);
}

bool at_value_name(const Cursor& cursor) { return cursor.at_name() || cursor.kind() == TokenKind::value; }

/// The name of an output as its values are called: `%0` for those without one.
std::string value_name(Cursor cursor) {
  return cursor.kind() == TokenKind::value ? std::string(cursor.text(cursor.peek())) : cursor.take_name("a name");
}

std::vector<Cursor> take_targets(Cursor& cursor) {
  std::vector<Cursor> targets;
  do {
    if (!at_value_name(cursor)) {
      cursor.expected("the name of a value");
    }
    targets.push_back(cursor);
    cursor.take();
  } while (cursor.accept(','));
  return targets;
}

struct TypeNote {
  size_t offset = 0;
  Shape shape;
};

std::vector<TypeNote> take_types(Cursor& cursor) {
  std::vector<TypeNote> types;
  if (cursor.accept(':')) {
    do {
      const size_t offset = cursor.offset();
      types.push_back({offset, take_shape(cursor)});
    } while (cursor.accept(','));
  }
  return types;
}

/// The place behind the expression here, which must be known before the expression is built.
std::optional<std::string> peek_place(Cursor cursor) {
  cursor.take();
  if (cursor.at('(')) {
    cursor.take_bracketed('(');
  }
  if (!cursor.accept('@')) {
    return std::nullopt;
  }
  if (cursor.kind() != TokenKind::string) {
    cursor.expected("a place in quotes");
  }
  return unquoted(cursor.text(cursor.peek()));
}

void check_type(const Cursor& target, const TypeNote& type, const Shape& shape) {
  if (type.shape != shape) {
    target.source().fail_at(type.offset, fmt::format("`{}` is {}, not {}", target.text(target.peek()),
                                                     shape.to_string(), type.shape.to_string()));
  }
}

}  // namespace

void GraphParser::parse_input(Cursor& cursor) {
  const Cursor start = cursor;
  std::string name = cursor.take_name("the name of an input");
  cursor.expect(':');
  const Shape shape = take_shape(cursor);
  inputs_.push_back(cursor.source().located(start.offset(), [&] { return input(std::move(name), shape); }));
  scope_.define(start, inputs_.back());
}

void GraphParser::parse_statement(Cursor& cursor) {
  if (has_returned_) {
    cursor.expected("the end of the graph, for it has returned");
  }
  if (at_keyword(cursor, "return")) {
    parse_return(cursor);
  } else if (at_keyword(cursor, "where")) {
    parse_relation(cursor);
  } else {
    parse_definition(cursor);
  }
  if (!cursor.done() && !cursor.peek().starts_line) {
    cursor.expected("the end of the statement");
  }
}

void GraphParser::parse_definition(Cursor& cursor) {
  const std::vector<Cursor> targets = take_targets(cursor);
  const std::vector<TypeNote> types = take_types(cursor);
  if (!types.empty() && types.size() != targets.size()) {
    targets[0].fail(fmt::format("{} names have {} types", targets.size(), types.size()));
  }
  cursor.expect('=');
  const Cursor start = cursor;
  std::optional<Place> place;
  if (const std::optional<std::string> text = peek_place(cursor)) {
    place.emplace(*text);
  }
  // What `%0` is given is what the printer wrote.
  const Reading reading = targets[0].kind() == TokenKind::value ? Reading::exact : Reading::builder;
  const std::vector<Value> values = expressions_.parse(cursor, reading);
  if (place) {
    cursor.expect('@');
    cursor.take();
  }
  if (values.size() != targets.size()) {
    start.fail(fmt::format("gives {} value{} for {} name{}", values.size(), values.size() == 1 ? "" : "s",
                           targets.size(), targets.size() == 1 ? "" : "s"));
  }
  last_defined_.clear();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!types.empty()) {
      check_type(targets[i], types[i], values[i].shape());
    }
    scope_.define(targets[i], values[i]);
    last_defined_.push_back({.name = value_name(targets[i]), .value = values[i]});
  }
}

void GraphParser::parse_relation(Cursor& cursor) {
  cursor.take();
  const size_t offset = cursor.offset();
  Cursor line = cursor.take_line();
  relations_.push_back(cursor.source().located(offset, [&] { return parse_constraint(line.take_text()); }));
}

void GraphParser::parse_return(Cursor& cursor) {
  cursor.take();
  has_returned_ = true;
  if (!cursor.done()) {
    do {
      outputs_.push_back(parse_output(cursor));
    } while (cursor.accept(','));
  }
}

Output GraphParser::parse_output(Cursor& cursor) {
  Output output;
  if (cursor.at_name() && cursor.at('=', 1)) {
    output.name = cursor.take_name("the name of an output");
    cursor.take();
    output.value = expressions_.parse_value(cursor);
  } else {
    if (!at_value_name(cursor)) {
      cursor.expected("an output");
    }
    output.name = value_name(cursor);
    output.value = scope_.at(cursor);
    cursor.take();
  }
  if (cursor.accept_word("aliases")) {
    output.aliases = parse_alias(cursor);
  }
  return output;
}

int GraphParser::parse_alias(Cursor& cursor) const {
  if (!at_value_name(cursor)) {
    cursor.expected("the name of an input");
  }
  const auto found = std::ranges::find(inputs_, scope_.at(cursor));
  if (found == inputs_.end()) {
    cursor.fail(fmt::format("`{}` is not an input, so no output can alias it", cursor.text(cursor.peek())));
  }
  cursor.take();
  return static_cast<int>(found - inputs_.begin());
}

Graph GraphParser::finish(const std::string& name, std::vector<Output> outputs) const {
  return {name, inputs_, std::move(outputs), relations_};
}

}  // namespace tenon::text
