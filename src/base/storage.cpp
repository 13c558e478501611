#include "tenon/storage.h"

namespace tenon {

std::string to_string(const MemoryPlace& place) {
  return place.kind == DeviceKind::cpu ? "cpu" : "gpu:" + std::to_string(place.index);
}

}  // namespace tenon
