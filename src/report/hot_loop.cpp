#include "report/hot_loop.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenon::report {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Without comments and the spaces around it.
std::string_view trimmed(std::string_view line) {
  for (const std::string_view comment : {"//", "# ", "@ "}) {
    line = line.substr(0, line.find(comment));
  }
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(begin);
  return line.substr(0, line.find_last_not_of(" \t;") + 1);
}

/// The label that a line defines; empty for others.
std::string_view label_of(std::string_view line) {
  const size_t colon = line.find(':');
  const bool is_label = colon != std::string_view::npos && colon > 0 && line.find_first_of(" \t\"") > colon;
  return is_label ? line.substr(0, colon) : std::string_view();
}

/// The label that a jump goes to: its last word. Empty for what is no jump.
std::string_view target_of(std::string_view line) {
  const bool is_jump = line.starts_with('j') || line.starts_with("b.") || line.starts_with("b\t") ||
                       line.starts_with("cb") || line.starts_with("tb") || line.find("bra") != std::string_view::npos;
  const size_t before = line.find_last_of(" \t,");
  return is_jump && before != std::string_view::npos ? line.substr(before + 1) : std::string_view();
}

/// What an instruction computes at once, roughly, by its widest register.
double width_of(std::string_view line) {
  constexpr struct {
    std::string_view mark;
    double width;
  } kMarks[] = {{"zmm", 16}, {"ymm", 8}, {".4s", 4}, {"z0.", 4}, {"xmm", 4}, {".2d", 2}, {"wgmma", 64}, {"fma", 1}};
  double width = 0.1;
  for (const auto& [mark, wide] : kMarks) {
    width = line.find(mark) == std::string_view::npos ? width : std::max(width, wide);
  }
  return width;
}

}  // namespace

std::optional<LineRange> hot_loop(std::string_view assembly) {
  const std::vector<std::string_view> lines = lines_of(assembly);
  std::unordered_map<std::string_view, size_t> labels;
  std::vector<LineRange> loops;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (const std::string_view label = label_of(line); !label.empty()) {
      labels[label] = i;
    } else if (const auto at = labels.find(target_of(line)); at != labels.end()) {
      loops.push_back({.first = at->second, .last = i});
    }
  }
  const auto holds = [](const LineRange& outer, const LineRange& inner) {
    return outer != inner && outer.first <= inner.first && inner.last <= outer.last;
  };
  std::optional<LineRange> hottest;
  double most = -1;
  for (const LineRange& loop : loops) {
    if (std::ranges::any_of(loops, [&](const LineRange& other) { return holds(loop, other); })) {
      continue;
    }
    const auto depth = std::ranges::count_if(loops, [&](const LineRange& other) { return holds(other, loop); });
    double score = 0;
    for (size_t i = loop.first; i <= loop.last; ++i) {
      score += width_of(lines[i]);
    }
    score *= std::pow(4.0, static_cast<double>(std::min<int64_t>(depth, 8)));
    if (score > most) {
      most = score;
      hottest = loop;
    }
  }
  return hottest;
}

}  // namespace tenon::report
