// Random graphs of operators with numbers: diamonds, wide ones, deep ones, with tensors of size zero.
#pragma once

#include "partition/work/sized.h"

namespace tenon::partition {

enum class DagShape : uint8_t { any, chain, diamonds, wide };

/// `operators` of them; the same for the same seed. Each has arithmetic of its own, so that no two parts are alike.
SizedGraph random_dag(uint64_t seed, int operators, DagShape shape);

/// A profile in whose memories everything fits.
Profile roomy_profile();

}  // namespace tenon::partition
