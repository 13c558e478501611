#include "mesh/run/same_on_all.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/fail.h"

namespace tenon::mesh {

void require_same_on_all(Communicator& world, uint64_t number, const char* what) {
  const auto ranks = static_cast<size_t>(world.size());
  std::vector<uint64_t> all(ranks);
  world
      .all_gather(reinterpret_cast<const std::byte*>(&number), std::vector<size_t>(ranks, sizeof(number)),
                  reinterpret_cast<std::byte*>(all.data()))
      ->wait();
  const auto other = std::ranges::find_if(all, [&](uint64_t each) { return each != all[0]; });
  if (other != all.end()) {
    fail("rank {} of the mesh has {} than rank 0; start every rank with the same command and the same files",
         other - all.begin(), what);
  }
}

}  // namespace tenon::mesh
