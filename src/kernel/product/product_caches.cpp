#include "kernel/product/product_caches.h"

#include <fstream>
#include <string>

namespace tenon {
namespace {

int64_t read_size(const std::string& path) {
  std::ifstream file(path);
  int64_t size = 0;
  char unit = 0;
  file >> size >> unit;
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

// From /sys: sysconf() knows nothing of caches on some ARM machines.
CacheSizes read_caches() {
  CacheSizes sizes;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream file(folder + "type");
    std::string type;
    file >> type;
    if (type != "Data" && type != "Unified") continue;
    const int64_t level = read_size(folder + "level");
    const int64_t size = read_size(folder + "size");
    if (level == 1 && size > 0) sizes.first = size;
    if (level == 2 && size > 0) sizes.second = size;
  }
  return sizes;
}

}  // namespace

const CacheSizes& cache_sizes() {
  static const CacheSizes sizes = read_caches();
  return sizes;
}

}  // namespace tenon
