// The least time that a step can take, and why.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "roofs/roofs.h"

namespace tenon::roofs {

/// So many bytes, and how much cache would still have them: ReuseStack::touch().
struct Touch {
  double bytes = 0;
  double distance = 0;
};

/// What a step has to do.
struct StepWork {
  std::array<double, kUnits> operations = {};  // by Unit
  std::vector<Touch> touches = {};

  double all_operations() const;
  double all_bytes() const;
};

struct Limit {
  double seconds = 0;
  std::string by;             // "f32 arithmetic", "memory", "second cache"; empty where there is nothing to do
  std::vector<double> bytes;  // by level, that come from it or from beyond it
};

/// The longest of: arithmetic at the roof of each unit, one after the other; and for each level the bytes that come
/// from it or from beyond it, at its bandwidth.
Limit limit_of(const StepWork& work, const Roofs& roofs, int threads);

}  // namespace tenon::roofs
