// Reading shapes and axis lists out of a longer text, for the parsers that contain them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tenon/extent.h"
#include "tenon/shape.h"

namespace tenon {

/// Parse `f32[batch, 512]` at `position`, after blanks, and advance past the closing bracket.
Shape parse_shape_prefix(std::string_view text, size_t& position);

/// The same for `[batch, 512]`.
std::vector<Axis> parse_axes_prefix(std::string_view text, size_t& position);

/// Where the expression at `position` ends: the first of `stops` outside parentheses and backticks, or the text's end.
size_t expression_end(std::string_view text, size_t position, std::string_view stops);

/// Extent::parse of text[begin, end); its error gains a note with the line and the column.
Extent parse_extent_part(std::string_view text, size_t begin, size_t end);

size_t skip_blanks(std::string_view text, size_t position);

/// The position after the name in backticks that begins at `position`, or the text's end when it has none.
size_t skip_quoted(std::string_view text, size_t position);

/// Throw the Error `in "f32[batch, ]", column 13: an axis is missing`; of several lines it shows the one in question.
[[noreturn]] void fail_at(std::string_view text, size_t position, std::string_view message);

}  // namespace tenon
