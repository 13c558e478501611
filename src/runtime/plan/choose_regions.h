// Which steps of a program run tile by tile, and in which tiles.
#pragma once

#include <vector>

#include "runtime/plan/specialization.h"

namespace tenon::runtime {

/// The window of a buffer of a region.
struct WindowCut {
  double rows = 0;  // of the driver: what it holds is the elements of so many
  bool copied = false;
};

/// What was chosen for some steps, in terms that serve sizes near those that it was chosen for.
struct RegionCut {
  RegionChoice choice = {};
  int64_t tile = 0;  // rows of the driver; 0: step by step
  std::vector<WindowCut> windows = {};
};

/// What tiles are chosen for: the machine of the program, and the threads that run it.
TileTarget tile_target(const Program& program, int threads);

/// In the order of steps. Of `s` only the bindings and the values of extents are read. Tries many regions and cuts of
/// each, and goes through all tiles of those that it takes: ten times what the rest of a specialization takes and more,
/// so that TileChoices keeps what it gives.
std::vector<RegionCut> choose_regions(const Program& program, const Plan& plan, int threads, const Specialization& s);

}  // namespace tenon::runtime
