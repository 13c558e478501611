// Convolutions that are multiplied in Winograd's form.
#pragma once

#include <fmt/format.h>

#include <string>

#include "support/small_graph.h"
#include "tenon/compile.h"

namespace tenon {

inline constexpr int64_t kCache = int64_t{2} << 20;  // that has room for them

/// Steps whose label has this in it.
inline int forms(const Executable& executable, const std::string& name = "(winograd") {
  int count = 0;
  for (const StepReport& step : executable.steps()) {
    count += step.label.find(name) != std::string::npos ? 1 : 0;
  }
  return count;
}

/// Channels of the result lie side by side for the caller.
inline SmallGraph alone(const std::string& of_image, const std::string& of_weights) {
  return {
      "alone", "x: f32[b, 3, h, v], wa: f32[64, 3, 1, 1], wb: f32[64, 64, 3, 3]",
      fmt::format("i = {}; a = conv(i, {}); c = conv(a, {}, low=[1, 1], high=[1, 1]); "
                  "y = transpose(c, axes=[0, 2, 3, 1])",
                  of_image, fmt::format(fmt::runtime(of_weights), "wa"), fmt::format(fmt::runtime(of_weights), "wb"))};
}

}  // namespace tenon
