// What a file says of itself, with what holds on this host, and its program.
#pragma once

#include "saved/checked_file.h"
#include "tenon/program_file.h"

namespace tenon::saved {

/// ProgramFileMachine::code of programs that any machine runs.
inline constexpr const char* kInterpreted = "loop interpreter";

/// The section `info`, versions and sizes from the header, and which machines' code runs here. Sections are not listed.
ProgramFileInfo info_of(const CheckedFile& file);

/// What load_program() gives of it.
Executable load(const CheckedFile& file, const ProgramFileOptions& options);

}  // namespace tenon::saved
