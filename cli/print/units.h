// Numbers as people write them.
#pragma once

#include "report/units.h"

namespace tenon::cli {

using report::bytes_text;
using report::count_text;
using report::time_text;

}  // namespace tenon::cli
