#include "ops/needed_by.h"

#include <fmt/format.h>

#include "ir/node.h"

namespace tenon {
namespace {

thread_local std::string_view outermost;

}  // namespace

NeededBy::NeededBy(std::string_view operation) : is_outermost_(outermost.empty()) {
  if (is_outermost_) {
    outermost = operation;
  }
}

NeededBy::~NeededBy() {
  if (is_outermost_) {
    outermost = {};
  }
}

std::string_view NeededBy::name(std::string_view otherwise) { return outermost.empty() ? otherwise : outermost; }

std::string NeededBy::place_of(std::string_view part, std::string_view otherwise) {
  const std::string& outer = build_context().place;
  return fmt::format("{}{}{} of {}", outer, outer.empty() ? "" : ": ", part, name(otherwise));
}

}  // namespace tenon
