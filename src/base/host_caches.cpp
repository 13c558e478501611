#include "base/host_caches.h"

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

}  // namespace

// From /sys: sysconf() knows nothing of them on some ARM machines.
HostCaches host_caches() {
  HostCaches caches;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream file(folder + "type");
    std::string type;
    file >> type;
    if (type != "Data" && type != "Unified") continue;
    const int64_t level = read_size(folder + "level");
    (level == 1 ? caches.first : level == 2 ? caches.second : caches.last) = read_size(folder + "size");
  }
  return caches;
}

}  // namespace tenon
