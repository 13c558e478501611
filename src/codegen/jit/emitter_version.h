// Which emitter made the code that lies on disk.
#pragma once

#include <string>

namespace tenon::codegen {

/// Names this very build of the emitter, for JitOptions::emitter: the linker's build id of the program or library that
/// holds it. Empty when it was linked without one.
std::string emitter_version();

}  // namespace tenon::codegen
