#include "codegen/emit/emit_kernel.h"

#include <fmt/format.h>

namespace tenon::codegen {

std::string to_string(const EmitOptions& options) {
  return fmt::format("non-temporal from {}", options.nontemporal_bytes);
}

}  // namespace tenon::codegen
