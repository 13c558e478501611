#include "text/builder_arguments.h"

namespace tenon::text {
namespace {

/// `none`, as the catalog writes what a parameter is that is not given. A text or a value of that name is one.
bool is_nothing(const BuilderParameter& parameter, Cursor content, const ExpressionParser& expressions) {
  return parameter.default_text == "none" && parameter.type != ArgumentType::text && content.at_word("none") &&
         !expressions.is_value(content) && content.accept_word("none") && content.done();
}

}  // namespace

BuilderArguments::BuilderArguments(const CatalogEntry& entry, Arguments& arguments, ExpressionParser& expressions)
    : expressions_(expressions), parts_(entry.parameters.size()) {
  std::vector<std::string> names;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const BuilderParameter& parameter = entry.parameters[i];
    names.emplace_back(parameter.name);
    if (parameter.type == ArgumentType::values && arguments.peek() != nullptr && starts_operand(*arguments.peek())) {
      while (arguments.peek() != nullptr && starts_operand(*arguments.peek())) {
        parts_[i].push_back(arguments.take_next());
      }
    } else if (const std::optional<Cursor> content = arguments.take(parameter.name);
               content && !is_nothing(parameter, *content, expressions_)) {
      parts_[i].push_back(*content);
    }
  }
  arguments.finish(entry.name, names);
}

void BuilderArguments::read(size_t parameter, Value& to) {
  Cursor content = parts_[parameter].front();
  to = expressions_.parse_value(content);
  content.expect_done();
}

void BuilderArguments::read(size_t parameter, std::vector<Value>& to) {
  std::vector<Cursor> parts = parts_[parameter];
  if (parts.front().at('[')) {
    Cursor list = parts.front();
    parts = split_items(list.take_bracketed('['));
    list.expect_done();
  }
  for (Cursor& content : parts) {
    to.push_back(expressions_.parse_value(content));
    content.expect_done();
  }
}

void BuilderArguments::read(size_t parameter, Operand& to) {
  Cursor content = parts_[parameter].front();
  to = expressions_.parse_operand(content);
  content.expect_done();
}

}  // namespace tenon::text
