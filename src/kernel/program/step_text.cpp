#include "kernel/program/step_text.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace tenon {

std::string number_inside(const std::string& step, size_t bodies, size_t body, size_t at) {
  return bodies == 1 ? fmt::format("{}.{}", step, at + 1) : fmt::format("{}.{}.{}", step, body + 1, at + 1);
}

std::string node_text(std::span<const std::string> nodes, size_t most) {
  const size_t shown = std::min(nodes.size(), most);
  std::string text = fmt::format("{}", fmt::join(nodes.first(shown), ", "));
  return shown == nodes.size() ? text : fmt::format("{} and {} more", text, nodes.size() - shown);
}

std::string step_title(std::span<const std::string> nodes, const std::string& operators) {
  return nodes.empty() ? operators : fmt::format("{} ({})", node_text(nodes, 2), operators);
}

}  // namespace tenon
