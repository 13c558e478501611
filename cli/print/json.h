// JSON, written: what `--json` prints.
#pragma once

#include "report/json.h"

namespace tenon::cli {

using report::Json;

}  // namespace tenon::cli
