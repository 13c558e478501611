#include "compiler/grouping.h"

#include "base/fail.h"
#include "compiler/backend.h"
#include "kernel/product/product_caches.h"

namespace tenon::compiler {

schedule::GroupOptions grouping(const CompileOptions& options) {
  if (options.tile_cache < 0) {
    fail("CompileOptions::tile_cache is {}; it is the bytes of a cache, and 0 stands for this machine's",
         options.tile_cache);
  }
  return {.fuse = options.fuse,
          .panel = panel_columns({.native = options.native, .disk_cache = options.disk_cache}),
          .tiles = schedule::product_tiles(options.tile_cache > 0 ? options.tile_cache : cache_sizes().second),
          .winograd = options.winograd,
          .most_row_bytes = options.most_row_bytes,
          .least_shared_work = options.least_shared_work};
}

}  // namespace tenon::compiler
