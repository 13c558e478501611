// The machine that a command speaks of.
#pragma once

#include "cli/words/arguments.h"
#include "tenon/machine.h"

namespace tenon::cli {

/// By `--machine`, or its older name `--target`: one of machine_names(), or a file that has one as text; without
/// either, that of `--device`, which is this one unless told. Error: there is neither such a name nor such a file; both
/// options.
Machine machine_of(const Arguments& arguments);
/// The machine of that name, or of that file. Error: neither.
Machine machine_of(const std::string& word);

}  // namespace tenon::cli
