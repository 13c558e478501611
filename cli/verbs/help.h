// Help, from the table of verbs.
#pragma once

#include <string>

#include "cli/verb.h"

namespace tenon::cli {

/// All verbs, a line each, and where to begin.
std::string help_text();
/// One verb: usage, what it does, options, examples.
std::string help_text(const Verb& verb);
/// `tenon run MODEL [options]`
std::string usage(const Verb& verb);
/// `--input NAME=SOURCE`
std::string spelling(const Option& option);

}  // namespace tenon::cli
