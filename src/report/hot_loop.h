// Where a kernel spends its time, found in its assembly.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tenon::report {

/// Lines of a text, counted from 0, both included.
struct LineRange {
  size_t first = 0;
  size_t last = 0;

  friend bool operator==(const LineRange&, const LineRange&) = default;
};

/// The innermost loop that computes most: from the label that a later jump goes back to, to that jump. Of several
/// innermost loops, a deeper one counts more, and one with more and wider vector registers. Nothing where there is no
/// loop. Reads the assembly of x86 and ARM as LLVM writes it, and PTX.
std::optional<LineRange> hot_loop(std::string_view assembly);

}  // namespace tenon::report
