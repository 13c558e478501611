// The regions of a program that run in tiles at a binding.
#pragma once

#include "runtime/plan/specialization.h"
#include "runtime/plan/tile_choices.h"
#include "runtime/plan/waves.h"

namespace tenon::runtime {

struct TileOptions {
  int threads = 1;
  Tiling tiling = Tiling::chosen;
};

/// Fill in regions and choices, or that these are not known. A region of the program may become several, or none.
void tile_regions(const Program& program, const Plan& plan, const TileOptions& options, TileChoices& kept,
                  Specialization& s);

/// The waves of a specialization that has its regions; the steps of a region are one wave.
Waves order_steps(const Plan& plan, int threads, const Specialization& s);

/// The same waves, but that the steps of each region are one, where the first of them was.
Waves with_regions(const Waves& waves, const Specialization& s, size_t steps);

}  // namespace tenon::runtime
