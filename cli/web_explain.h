// The page of `tenon explain --html`: one file that needs no network.
#pragma once

#include <string>
#include <string_view>

#include "json.h"

namespace tenon::cli {

/// What the page shows. `data` has what `explain --json` prints, and `loops` (of each step) and `memory`
/// (explain_memory.h) where they are known; `picture` is the graph as SVG, laid out by picture_dot() and layout_svg().
struct ExplainPage {
  std::string title;
  std::string lead;  // a line under it
  std::string picture;
  Json data;
};
/// Styles of the page, dark and light: for pages that look like it.
std::string_view explain_style();
std::string explain_page(const ExplainPage& page);

}  // namespace tenon::cli
