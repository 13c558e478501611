// Lines of the text of a loop kernel that stand for themselves: everything but loops and phases.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "kernel/loop/loop.h"
#include "kernel/loop/loop_cursor.h"

namespace tenon::loops {

/// What has been read so far.
struct ParseScope {
  Kernel kernel;
  std::map<std::string, int, std::less<>> axes;          // by name
  std::map<int, std::string_view> values, accumulators;  // those that are known, in the words of the text
};

/// Each moves past what it reads; an Error where that is something else.
int take_axis(const ParseScope& scope, LineCursor& in);
int take_value(const ParseScope& scope, LineCursor& in);
Dtype take_dtype(LineCursor& in);

/// Which digit of what a loop is at, behind `by `.
Digit take_digit(const ParseScope& scope, LineCursor& in);

/// What a value is, behind `v0 = `. Not a result.
Value take_definition(const ParseScope& scope, LineCursor& in);
/// What an accumulator takes in, behind `a0 `.
Accumulator take_accumulator(const ParseScope& scope, LineCursor& in);
/// A store or a product, whose `work` is left open.
Statement take_written(const ParseScope& scope, LineCursor& in);

}  // namespace tenon::loops
