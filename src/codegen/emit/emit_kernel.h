// What the emitter of kernels can be told.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::codegen {

struct EmitOptions {
  /// Outputs of at least so many bytes are stored past the caches, where a loop allows it (nontemporal_stores.h): they
  /// would be in none by the time that somebody reads them. Half as much is no faster that way, and an eighth is
  /// slower.
  int64_t nontemporal_bytes = int64_t{32} << 20;

  friend bool operator==(const EmitOptions&, const EmitOptions&) = default;
};

/// The options as part of the key of compiled code.
std::string to_string(const EmitOptions& options);

}  // namespace tenon::codegen
