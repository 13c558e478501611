// What a program's file holds, as data.
#pragma once

#include <string>
#include <vector>

#include "devices/module.h"
#include "runtime/run/segments.h"
#include "tenon/program_file.h"

namespace tenon::saved {

/// A program for one machine, with everything that running it takes but loaded code.
struct MachineProgram {
  Machine machine;
  runtime::Segments segments;      // without code; constants are laid out, and there are no loops
  std::vector<std::string> names;  // RuntimeOptions::names
  devices::Module code;
};

/// The same model for one machine or several.
struct SavedProgram {
  ProgramFileInfo info;  // but for what writing decides: machines, sections, bytes and versions
  std::vector<MachineProgram> machines;
  bool reasons = true;  // else the texts that say why steps end where they do are left out
};

}  // namespace tenon::saved
