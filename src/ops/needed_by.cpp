#include "ops/needed_by.h"

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

}  // namespace tenon
