// Divisibility of extents: what is known of a value modulo a number.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tenon/extent.h"

namespace tenon {

/// Every value is `rest` modulo `modulus`. Modulus 1 says nothing, modulus 0 says that the value is `rest`.
/// Otherwise 0 <= rest < modulus.
struct Congruence {
  int64_t modulus = 1;
  int64_t rest = 0;

  bool admits(int64_t value) const;

  friend bool operator==(const Congruence&, const Congruence&) = default;
};

/// The congruence of an extent, given a divisor of each name.
Congruence congruence_of(const Extent& e, const std::function<int64_t(std::string_view)>& multiple_of);

}  // namespace tenon
