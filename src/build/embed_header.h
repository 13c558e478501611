// The C that comes with an embedded program: names of its inputs and outputs, and functions that call tenon/c.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/program_file.h"

namespace tenon {

/// Identifiers of C, all different.
struct EmbedNames {
  std::string model;     ///< "mlp"
  std::string variable;  ///< "mlp_program"
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// `name` need not be an identifier.
EmbedNames embed_names(const ProgramFileInfo& info, const std::string& name);

std::string embed_header(const ProgramFileInfo& info, const EmbedNames& names);

/// The source, up to and behind the numbers of eight bytes that are the program.
std::string embed_source_begin(const EmbedNames& names);
std::string embed_source_end(const EmbedNames& names, int64_t bytes);

}  // namespace tenon
