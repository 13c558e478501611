#include "codegen/emit/emit_kernel.h"

#include <fmt/format.h>

namespace tenon::codegen {

std::string to_string(const EmitOptions& options) {
  return fmt::format("inputs {}, non-temporal from {}", options.inputs_stay ? "stay" : "may change",
                     options.nontemporal_bytes);
}

}  // namespace tenon::codegen
