// The caches that blocks of products are made for.
#pragma once

#include <cstdint>

namespace tenon {

struct CacheSizes {
  int64_t first = int64_t{32} << 10;
  int64_t second = int64_t{512} << 10;
};

/// Less bytes than any second cache has: nobody needs to look how large it is.
inline constexpr int64_t kSmallOperand = int64_t{64} << 10;

/// Of this machine, as the system reports them; what it does not report is as above.
const CacheSizes& cache_sizes();

}  // namespace tenon
