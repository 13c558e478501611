#include "text/expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/catalog/catalog.h"
#include "ops/make.h"
#include "ops/scalar/scalar_table.h"
#include "tenon/ops.h"
#include "text/builder_arguments.h"
#include "text/field_parse.h"
#include "text/suggest.h"

namespace tenon::text {
namespace {

constexpr int kMaxNesting = 100;  // keeps the recursion within any stack

[[noreturn]] void fail_unknown(const Cursor& name) {
  const std::string_view word = name.text(name.peek());
  std::vector<std::string> names = kind_names<Op>();
  for (const ScalarFn* fn : scalar_table()) {
    names.emplace_back(fn->name);
  }
  for (const CatalogEntry& entry : catalog()) {
    names.emplace_back(entry.name);
  }
  std::erase(names, Input::info.name);
  name.fail(fmt::format("there is no operation called `{}`{}", word, suggestion(word, names)));
}

/// How many operands a kind takes; nothing for any number.
std::optional<size_t> operand_count(std::string_view operands) {
  if (operands.ends_with("...")) {
    return std::nullopt;
  }
  return operands.empty() ? 0 : 1 + static_cast<size_t>(std::ranges::count(operands, ' '));
}

bool starts_number(const Cursor& cursor) { return cursor.at('-') || cursor.kind() == TokenKind::number; }

}  // namespace

std::vector<Value> ExpressionParser::parse(Cursor& cursor, Reading reading) {
  if (!starts_operand(cursor)) {
    cursor.expected("a value");
  }
  const Cursor name = cursor;
  cursor.take();
  if (!cursor.at('(')) {
    return {scope_.at(name)};
  }
  if (name.kind() != TokenKind::word) {
    cursor.expected("the end of the expression");
  }
  if (++nesting_ > kMaxNesting) {
    name.fail(fmt::format("more than {} operations inside each other", kMaxNesting));
  }
  Arguments arguments(cursor.take_bracketed('('));
  std::vector<Value> values = operation(name, arguments, reading);
  --nesting_;
  return values;
}

Value ExpressionParser::parse_value(Cursor& cursor) {
  const Cursor start = cursor;
  std::vector<Value> values = parse(cursor, Reading::builder);
  if (values.size() != 1) {
    start.fail(fmt::format("{} values stand where one is needed", values.size()));
  }
  return std::move(values[0]);
}

Operand ExpressionParser::parse_operand(Cursor& cursor) {
  const bool special = (cursor.at_word("inf") || cursor.at_word("nan")) && !scope_.contains(cursor);
  if (!starts_number(cursor) && !special) {
    return parse_value(cursor);
  }
  FieldParser parser{cursor, graphs_};
  double number = 0;
  parse_field(parser, number);
  cursor = parser.cursor;
  return number;
}

std::vector<Value> ExpressionParser::operation(const Cursor& name, Arguments& arguments, Reading reading) {
  const std::string_view word = name.text(name.peek());
  if (const ScalarFn* fn = find_scalar_fn(word)) {
    return elementwise(*fn, name, arguments, reading);
  }
  std::optional<Op> kind = kind_called<Op>(word);
  if (kind && std::holds_alternative<Input>(*kind)) {
    name.fail("inputs are listed after the name of the graph");
  }
  const CatalogEntry* entry = find_builder(word);
  if (entry != nullptr && (reading == Reading::builder || !kind)) {
    BuilderArguments reader(*entry, arguments, *this);
    return name.source().located(name.offset(), [&] { return entry->build(*entry, reader); });
  }
  if (!kind) {
    fail_unknown(name);
  }
  return structural(std::move(*kind), name, arguments);
}

std::vector<Value> ExpressionParser::elementwise(const ScalarFn& fn, const Cursor& name, Arguments& arguments,
                                                 Reading reading) {
  std::vector<Operand> operands;
  std::vector<Value> values;
  // A cast's dtype may stand behind its operand without a name.
  const bool is_given = fn.result == ResultRule::given;
  while (arguments.peek() != nullptr && !(is_given && operands.size() == static_cast<size_t>(fn.arity))) {
    Cursor content = arguments.take_next();
    operands.push_back(parse_operand(content));
    content.expect_done();
    if (const Value* value = operands.back().value()) {
      values.push_back(*value);
    }
  }
  Dtype dtype = Dtype::f32;
  if (is_given) {
    const std::optional<Cursor> content = arguments.take("dtype");
    if (!content) {
      name.fail(fmt::format("{} needs `dtype`", fn.name));
    }
    parse_whole(*content, graphs_, dtype);
  }
  arguments.finish(fn.name, {});
  return name.source().located(name.offset(), [&]() -> std::vector<Value> {
    const bool exact = reading == Reading::exact && values.size() == operands.size();
    if (is_given && !exact && values.size() == 1) {
      return {cast(values[0], dtype)};
    }
    if (is_given && values.empty() && operands.size() == 1) {  // a number of that dtype
      return {scalar(dtype, operands[0].number())};
    }
    if (is_given || exact) {
      const Dtype result = is_given || values.empty() ? dtype : result_dtype(fn, values);
      return {make(Map{.fn = &fn, .dtype = result}, values)};
    }
    return {map(fn.name, operands)};
  });
}

std::vector<Value> ExpressionParser::structural(Op op, const Cursor& name, Arguments& arguments) {
  const std::optional<size_t> count = operand_count(kind_info(op).operands);
  std::vector<Value> operands;
  while (arguments.peek() != nullptr && (count ? operands.size() < *count : starts_operand(*arguments.peek()))) {
    Cursor content = arguments.take_next();
    operands.push_back(parse_value(content));
    content.expect_done();
  }
  parse_fields(name, arguments, graphs_, op);
  return name.source().located(name.offset(), [&] { return make_all(std::move(op), std::move(operands)); });
}

}  // namespace tenon::text
