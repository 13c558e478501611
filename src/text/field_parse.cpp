#include "text/field_parse.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/checked.h"
#include "base/element_text.h"
#include "ops/scalar/scalar_table.h"
#include "text/suggest.h"

namespace tenon::text {
namespace {

/// `-12`, `1.5`: the digits with their sign.
std::string take_signed(Cursor& cursor, std::string_view what) {
  std::string digits = cursor.accept('-') ? "-" : "";
  if (cursor.kind() != TokenKind::number) {
    cursor.expected(what);
  }
  return digits += cursor.text(cursor.take());
}

std::string take_word(Cursor& cursor, std::string_view what) {
  if (cursor.kind() != TokenKind::word) {
    cursor.expected(what);
  }
  return std::string(cursor.text(cursor.take()));
}

template <class T>
T parse_number(const Cursor& start, std::string_view digits, std::string_view what) {
  T value{};
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status == std::errc::result_out_of_range) {
    start.fail(fmt::format("{} does not fit 64 bits", digits));
  }
  if (status != std::errc() || end != digits.data() + digits.size()) {
    start.fail(fmt::format("`{}` is not {}", digits, what));
  }
  return value;
}

Dtype take_dtype(Cursor& cursor) {
  const Cursor start = cursor;
  const std::string word = take_word(cursor, "a dtype");
  const std::optional<Dtype> dtype = parse_dtype(word);
  if (!dtype) {
    std::vector<std::string> names;
    for (int i = 0; i < kDtypeCount; ++i) {
      names.emplace_back(name(static_cast<Dtype>(i)));
    }
    start.fail(fmt::format("`{}` is not a dtype{}", word, suggestion(word, names)));
  }
  return *dtype;
}

std::vector<Axis> take_axes(Cursor& cursor) {
  std::vector<Axis> axes;
  for (Cursor item : split_items(cursor.take_bracketed('['))) {
    if (item.done()) {
      item.expected("an axis");
    }
    const size_t offset = item.offset();
    axes.push_back(item.source().located(offset, [&] { return Axis::parse(item.take_text()); }));
  }
  return axes;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

/// The number of elements that an array of these sizes has; nothing when that is beyond any text.
std::optional<int64_t> element_count(const std::vector<int64_t>& dims) {
  if (std::ranges::find(dims, 0) != dims.end()) {
    return 0;
  }
  std::optional<int64_t> count = 1;
  for (const int64_t dim : dims) {
    count = count ? checked_mul(*count, dim) : count;
  }
  return count;
}

/// The elements of the data token at `cursor`. Nothing is allocated for sizes that the text does not fill.
Array take_elements(Cursor& cursor, const Shape& shape) {
  const std::vector<int64_t> dims = shape.dims();
  const std::string_view text = cursor.source().text();
  const size_t begin = cursor.offset() + 1;
  const Token data = cursor.take();
  const size_t end = data.end - size_t{1};
  const std::string_view content = trimmed(text.substr(begin, end - begin));
  if (content.ends_with("...")) {
    cursor.source().fail_at(data.begin, "the elements of this constant were left out when it was printed");
  }
  const int64_t given = content.empty() ? 0 : 1 + std::ranges::count(content, ',');
  if (element_count(dims) != given) {
    cursor.source().fail_at(
        data.begin, fmt::format("{} element{} given for {}", given, given == 1 ? " is" : "s are", shape.to_string()));
  }
  Array array(shape.dtype(), dims);
  std::byte* element = array.mutable_data();
  size_t at = begin;
  for (int64_t i = 0; i < given; ++i) {
    const size_t item_end = std::min(text.find(',', at), end);
    const std::string_view item = trimmed(text.substr(at, item_end - at));
    if (!element_from_text(shape.dtype(), item, element)) {
      cursor.source().fail_at(std::min(text.find_first_not_of(" \t\r\n", at), end),
                              fmt::format("`{}` is not an element of {}", item.substr(0, 40), name(shape.dtype())));
    }
    element += byte_size(shape.dtype());
    at = item_end + 1;
  }
  return array;
}

}  // namespace

void parse_field(FieldParser& parser, int64_t& to) {
  const Cursor start = parser.cursor;
  to = parse_number<int64_t>(start, take_signed(parser.cursor, "an integer"), "an integer");
}

void parse_field(FieldParser& parser, int& to) {
  const Cursor start = parser.cursor;
  int64_t wide = 0;
  parse_field(parser, wide);
  if (!std::in_range<int>(wide)) {
    start.fail(fmt::format("{} does not fit 32 bits", wide));
  }
  to = static_cast<int>(wide);
}

void parse_field(FieldParser& parser, double& to) {
  Cursor& cursor = parser.cursor;
  const Cursor start = cursor;
  Cursor after_sign = cursor;
  const bool negative = after_sign.accept('-');
  if (after_sign.at_word("inf") || after_sign.at_word("nan")) {
    const bool infinite = after_sign.at_word("inf");
    after_sign.take();
    cursor = after_sign;
    to = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    to = negative ? -to : to;
    return;
  }
  to = parse_number<double>(start, take_signed(cursor, "a number"), "a number");
}

void parse_field(FieldParser& parser, bool& to) {
  if (!parser.cursor.at_word("true") && !parser.cursor.at_word("false")) {
    parser.cursor.expected("true or false");
  }
  to = parser.cursor.text(parser.cursor.take()) == "true";
}

void parse_field(FieldParser& parser, std::string& to) {
  if (parser.cursor.kind() == TokenKind::string) {
    to = unquoted(parser.cursor.text(parser.cursor.take()));
  } else {
    to = take_word(parser.cursor, "a word or a string");
  }
}

void parse_field(FieldParser& parser, Dtype& to) { to = take_dtype(parser.cursor); }

void parse_field(FieldParser& parser, Axis& to) {
  const size_t offset = parser.cursor.offset();
  to = parser.cursor.source().located(offset, [&] { return Axis::parse(parser.cursor.take_text()); });
}

void parse_field(FieldParser& parser, Extent& to) {
  if (parser.cursor.done()) {
    parser.cursor.expected("a size");
  }
  const size_t offset = parser.cursor.offset();
  to = parser.cursor.source().located(offset, [&] { return Extent::parse(parser.cursor.take_text()); });
}

void parse_field(FieldParser& parser, Shape& to) { to = take_shape(parser.cursor); }

void parse_field(FieldParser& parser, Array& to) {
  Cursor& cursor = parser.cursor;
  const size_t offset = cursor.offset();
  const Shape shape = take_shape(cursor);
  if (cursor.kind() != TokenKind::data) {
    cursor.expected("the elements in braces");
  }
  to = cursor.source().located(offset, [&] { return take_elements(cursor, shape); });
}

void parse_field(FieldParser& parser, Graph& to) {
  const Cursor start = parser.cursor;
  const std::string label = parser.cursor.take_name("the name of a graph");
  const Graph* graph = parser.graphs.call(label);
  if (graph == nullptr) {
    start.fail(
        fmt::format("no graph called `{}` stands before this{}", label, suggestion(label, parser.graphs.labels())));
  }
  to = *graph;
}

void parse_field(FieldParser& parser, const ScalarFn*& to) {
  const Cursor start = parser.cursor;
  const std::string word = take_word(parser.cursor, "the name of an elementwise function");
  to = find_scalar_fn(word);
  if (to == nullptr) {
    start.fail(fmt::format("there is no elementwise function called `{}`", word));
  }
}

void parse_field(FieldParser& parser, View& to) {
  const Cursor start = parser.cursor;
  const std::string word = take_word(parser.cursor, "a view");
  std::optional<View> view = kind_called<View>(word);
  if (!view) {
    start.fail(fmt::format("`{}` is not a view{}", word, suggestion(word, kind_names<View>())));
  }
  Arguments arguments(parser.cursor.take_bracketed('('));
  parse_fields(start, arguments, parser.graphs, *view);
  to = std::move(*view);
}

void parse_field(FieldParser& parser, std::vector<Axis>& to) { to = take_axes(parser.cursor); }

size_t parse_spelling(FieldParser& parser, const std::vector<std::string>& spellings) {
  const Cursor start = parser.cursor;
  const std::string word = take_word(parser.cursor, fmt::format("one of {}", fmt::join(spellings, ", ")));
  const auto found = std::ranges::find(spellings, word);
  if (found == spellings.end()) {
    start.fail(fmt::format("`{}` is none of {}", word, fmt::join(spellings, ", ")));
  }
  return static_cast<size_t>(found - spellings.begin());
}

Shape take_shape(Cursor& cursor) {
  const Dtype dtype = take_dtype(cursor);
  return {dtype, take_axes(cursor)};
}

}  // namespace tenon::text
