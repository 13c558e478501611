// The page of a compiled model: one file that needs no network.
#pragma once

#include <string>
#include <string_view>

#include "report/json.h"

namespace tenon::report {

/// What the page shows. `data` is page_data() of one model; or has `programs`, several of them, and `realizations`,
/// what lazy tensors ran of them and why (tensor/explain.h).
struct ExplainPage {
  std::string title;
  std::string lead;  // a line under it
  Json data;
};
/// Styles of the page, dark and light: for pages that look like it.
std::string_view explain_style();
/// The function of its script that places names in charts.
std::string_view place_names_script();
std::string explain_page(const ExplainPage& page);

}  // namespace tenon::report
