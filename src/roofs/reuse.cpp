#include "roofs/reuse.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::roofs {

double ReuseStack::touch(size_t piece, double bytes, bool in_arena) {
  const auto found = places_.find(piece);
  double distance = std::numeric_limits<double>::infinity();
  if (found != places_.end()) {
    double of_arena = in_arena ? bytes : 0;
    double others = in_arena ? 0 : bytes;
    for (auto it = recent_.begin(); it != found->second; ++it) {
      (it->in_arena ? of_arena : others) += it->bytes;
    }
    distance = std::min(of_arena, arena_) + others;
    bytes = std::max(bytes, found->second->bytes);
    recent_.erase(found->second);
  }
  recent_.push_front({.number = piece, .bytes = bytes, .in_arena = in_arena});
  places_[piece] = recent_.begin();
  return distance;
}

double beyond(double bytes, double distance, double capacity) {
  if (distance <= capacity) {
    return 0;
  }
  return std::isinf(distance) ? bytes : bytes * (1 - capacity / distance);
}

}  // namespace tenon::roofs
