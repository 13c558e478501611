#include "codegen/emit/emit_kernel.h"

#include <fmt/format.h>

namespace tenon::codegen {

std::string to_string(const EmitOptions& options) {
  return fmt::format("streams from {}", options.streamed_bytes);
}

}  // namespace tenon::codegen
