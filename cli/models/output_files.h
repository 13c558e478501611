// Outputs of a run as files.
#pragma once

#include <string>
#include <vector>

#include "cli/words/arguments.h"
#include "tenon/array.h"

namespace tenon::cli {

/// Each output as FOLDER/NAME.npy. Errors: the folder cannot be made; two names that are the same file; a file that the
/// arguments read.
void write_outputs(const Arguments& arguments, const std::string& folder, const std::vector<std::string>& names,
                   const std::vector<Array>& outputs);

}  // namespace tenon::cli
