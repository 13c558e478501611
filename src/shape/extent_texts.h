// Many texts of extents that have parts in common.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tenon/extent.h"

namespace tenon {

/// Reads texts as Extent::parse() does, each different one once, and each different part of them in parentheses once:
/// extents that it gives share those. The sizes inside of a network are large expressions of one another: those of
/// ResNet-18's program are 600,000 blocks of memory otherwise.
class ExtentTexts {
 public:
  ExtentTexts() = default;
  ExtentTexts(const ExtentTexts&) = delete;
  ExtentTexts& operator=(const ExtentTexts&) = delete;

  const Extent& parse(std::string_view text);

  struct Part {
    Extent extent;
    int nesting = 0;  // parentheses inside each other, within its own
  };

 private:
  std::deque<std::string> texts_;  // which the others point into
  std::unordered_map<std::string_view, Extent> wholes_;
  std::unordered_map<std::string_view, Part> parts_;
};

}  // namespace tenon
