// One self-contained HTML page: the shell that all pages of the command share.
#pragma once

#include <string>
#include <string_view>

#include "report/json.h"

namespace tenon::report {

/// The text with the characters that HTML keeps for itself spelt out.
std::string html_text(std::string_view text);

/// A page with the styles of ours around `body`. `data` is there for `script` as the constant `data`.
std::string html_page(const std::string& title, const std::string& body, const Json& data = Json::object(),
                      std::string_view script = "");

/// A bar of a table cell: `share` of the longest, with the figure behind it.
std::string html_bar(double share, const std::string& figure);

}  // namespace tenon::report
