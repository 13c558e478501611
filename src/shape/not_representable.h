// Arithmetic of sizes that has no result.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "base/refused.h"

namespace tenon {

/// An extent that there is not: a number beyond 64 bits, an expression beyond the limits of extents, or a division by
/// zero. Who asks of an extent whether something is proven takes that as: no.
class NotRepresentable : public Refused {
 public:
  using Refused::Refused;
  explicit NotRepresentable(const Error& error) : Refused(error) {}
};

template <class... Args>
[[noreturn]] void not_representable(fmt::format_string<Args...> format, Args&&... args) {
  throw NotRepresentable(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tenon
