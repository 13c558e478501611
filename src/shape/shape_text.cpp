#include "shape/shape_text.h"

#include <algorithm>
#include <string>

#include "base/fail.h"
#include "shape/extent_names.h"

namespace tenon {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// `in "f32[batch, ]", column 13`
std::string place(std::string_view text, size_t position) {
  constexpr size_t kLongest = 200;
  position = std::min(position, text.size());
  const size_t before = position == 0 ? std::string_view::npos : text.rfind('\n', position - 1);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const size_t length = std::min(text.find('\n', position), text.size()) - begin;
  return fmt::format("in \"{}{}\", column {}", text.substr(begin, std::min(length, kLongest)),
                     length > kLongest ? "..." : "", position - begin + 1);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

Axis parse_axis_part(std::string_view text, size_t begin, size_t end) {
  begin = skip_blanks(text, begin);
  if (begin >= end) {
    fail_at(text, end, "an axis is missing");
  }
  const size_t equals = expression_end(text.substr(0, end), begin, "=");
  const std::string_view part = trimmed(text.substr(begin, end - begin));
  if (part == "-1") {
    return Axis::anonymous();
  }
  std::string label;
  size_t value = begin;
  if (equals < end) {
    const std::optional<std::string> name = parse_extent_part(text, begin, equals).as_name();
    if (!name) {
      fail_at(text, begin, "the label of an axis must be a name");
    }
    label = *name;
    value = equals + 1;
  }
  const Extent extent = parse_extent_part(text, value, end);
  if (const std::optional<int64_t> size = extent.constant(); size && *size < 0) {
    fail_at(text, skip_blanks(text, value), fmt::format("axis size {} is negative", *size));
  }
  return Axis::named(std::move(label), extent);
}

}  // namespace

size_t skip_blanks(std::string_view text, size_t position) {
  while (position < text.size() && is_blank(text[position])) {
    ++position;
  }
  return position;
}

size_t skip_quoted(std::string_view text, size_t position) {
  for (++position; position < text.size() && text[position] != '`'; ++position) {
    if (text[position] == '\\') {
      ++position;
    }
  }
  return std::min(position + 1, text.size());
}

void fail_at(std::string_view text, size_t position, std::string_view message) {
  fail("{}: {}", place(text, position), message);
}

size_t expression_end(std::string_view text, size_t position, std::string_view stops) {
  int depth = 0;
  while (position < text.size()) {
    const char c = text[position];
    if (c == '`') {
      position = skip_quoted(text, position);
      continue;
    }
    if (depth == 0 && stops.find(c) != std::string_view::npos) {
      return position;
    }
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    ++position;
  }
  return text.size();
}

Extent parse_extent_part(std::string_view text, size_t begin, size_t end) {
  begin = skip_blanks(text, begin);
  const std::string_view part = begin < end ? trimmed(text.substr(begin, end - begin)) : std::string_view();
  if (part.empty()) {
    fail_at(text, end, "an expression is missing");
  }
  try {
    return Extent::parse(part);
  } catch (Error& error) {
    if (part.size() < text.size()) {
      error.note(place(text, begin));
    }
    throw;
  }
}

std::vector<Axis> parse_axes_prefix(std::string_view text, size_t& position) {
  size_t at = skip_blanks(text, position);
  if (at >= text.size() || text[at] != '[') {
    fail_at(text, at, "expected `[`");
  }
  std::vector<Axis> axes;
  at = skip_blanks(text, at + 1);
  if (at < text.size() && text[at] == ']') {
    position = at + 1;
    return axes;
  }
  while (true) {
    const size_t end = expression_end(text, at, ",]");
    if (end == text.size()) {
      fail_at(text, end, "expected `]`");
    }
    axes.push_back(parse_axis_part(text, at, end));
    at = end + 1;
    if (text[end] == ']') {
      position = at;
      return axes;
    }
  }
}

Shape parse_shape_prefix(std::string_view text, size_t& position) {
  const size_t begin = skip_blanks(text, position);
  size_t end = begin;
  while (end < text.size() && is_word(text[end])) {
    ++end;
  }
  const std::optional<Dtype> dtype = parse_dtype(text.substr(begin, end - begin));
  if (!dtype) {
    fail_at(text, begin,
            end == begin ? std::string("expected a dtype")
                         : fmt::format("`{}` is not a dtype", text.substr(begin, end - begin)));
  }
  std::vector<Axis> axes = parse_axes_prefix(text, end);
  position = end;
  return {*dtype, std::move(axes)};
}

Axis Axis::parse(std::string_view text) {
  if (const size_t end = expression_end(text, 0, ",]"); end < text.size()) {
    fail_at(text, end, fmt::format("unexpected `{}`", text[end]));
  }
  return parse_axis_part(text, 0, text.size());
}

Shape Shape::parse(std::string_view text) {
  size_t position = 0;
  Shape parsed = parse_shape_prefix(text, position);
  position = skip_blanks(text, position);
  if (position < text.size()) {
    fail_at(text, position, "unexpected text after the shape");
  }
  return parsed;
}

std::string Axis::to_string() const {
  if (!extent_) {
    return "-1";
  }
  return label_.empty() ? extent_->to_string() : algebra::quoted_name(label_) + "=" + extent_->to_string();
}

std::string Shape::to_string() const {
  std::string text(tenon::name(dtype_));
  text += '[';
  for (size_t i = 0; i < axes_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + axes_[i].to_string();
  }
  return text + ']';
}

}  // namespace tenon
