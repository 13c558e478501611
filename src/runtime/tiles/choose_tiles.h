// Whether a region runs in tiles at the sizes of a binding, and in which.
#pragma once

#include <cstdint>

#include "runtime/tiles/tiled_region.h"

namespace tenon::runtime {

/// What tiles are chosen for.
struct TileTarget {
  int threads = 1;
  int64_t cache = int64_t{512} << 10;  // Machine::second_cache
  int64_t last_cache = 0;              // of all threads; 0: there is none behind the second
  int64_t rows = 0;                    // Pipelines::rows
};

/// Nanoseconds are those of one thread.
struct TileChoice {
  enum class Verdict : uint8_t {
    tiled,
    empty,         // a stage has no rows, or the region nothing inside
    unordered,     // a stage goes through a buffer in another order than that of its rows
    fits_already,  // what is between the stages stays in cache as it is
    costs_more,
    saves_little,  // of the time of its stages, whatever tiles would cost
    shared,        // strips would write the same rows
    takes_memory,  // more than the program takes without it
  };
  Verdict verdict = Verdict::empty;
  int64_t kept_bytes = 0;  // that are no longer written to memory and read again
  double saved_ns = 0;     // by that
  double repeated_ns = 0;  // halos that are computed again at the beginnings of strips
  double call_ns = 0;      // calls of kernels that are added
  double weights_ns = 0;   // weights that are read again by tile after tile

  double waiting_ns = 0;  // threads for the last of them
  int64_t strips = 1;
  bool for_memory = false;  // it takes about as long as it did, in less memory

  bool tiled() const { return verdict == Verdict::tiled; }
  double net() const { return saved_ns - repeated_ns - call_ns - weights_ns - waiting_ns; }
};

/// Nanoseconds, if nothing of what is between the stages of a region leaves the second cache; and whether that may be
/// worth it for a region of so much work.
double most_saved(const TileTarget& target, int64_t inside_bytes, int64_t moved_bytes);
bool may_pay(double saved_ns, double work);

/// Up to so many bytes stay in cache between the steps of a region as they are.
int64_t cached_bytes(const TileTarget& target);

/// Whether every stage goes through every buffer in the order of its rows; else the region cannot be cut.
bool is_ordered(const TiledRegion& region);

/// Fill in how the region is cut, by a few of its tiles. Where the verdict is not `tiled` that is of no meaning.
TileChoice choose_tiles(TiledRegion& region, const TileTarget& target);

/// The same for a region that takes much of a program's memory: tiles that take a small part of it, where that costs
/// next to no time.
TileChoice choose_tiles_for_memory(TiledRegion& region, const TileTarget& target);

/// Go through all tiles to see that each finds what it reads, and size the windows. False: it cannot be cut so, because
/// strips would write the same rows.
bool settle_tiles(TiledRegion& region);

/// Give windows of known sizes their places, at no cost that depends on the number of tiles. They may be too small:
/// runs look at each tile before it runs, and a region whose windows are too small runs step by step (run_region()).
/// False as above.
bool place_windows(TiledRegion& region);

/// Whether each tile of a settled region finds what it reads, in windows that are large enough, and no two strips write
/// the same memory. Goes through all tiles: for tests and debug builds.
bool verify_tiles(const TiledRegion& region);

}  // namespace tenon::runtime
