// One self-contained HTML page: the shell that all pages share.
#pragma once

#include "report/page.h"

namespace tenon::cli {

using report::html_bar;
using report::html_page;
using report::html_text;

}  // namespace tenon::cli
