// What `tenon explain` shows: how a graph was compiled.
#pragma once

#include <span>
#include <string>

namespace tenon {

/// The verb's help: usage, options, examples.
std::string explain_help();

/// Print what the words after the verb ask for.
void explain(std::span<const std::string> words);

}  // namespace tenon
