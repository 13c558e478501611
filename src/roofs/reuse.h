// Which bytes a step finds in which cache, from what the steps before it touched.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>
#include <vector>

namespace tenon::roofs {

/// Pieces of memory in the order of their last use. Not safe to use from several threads.
class ReuseStack {
 public:
  /// Pieces of an arena together take no more than `arena` bytes.
  explicit ReuseStack(double arena) : arena_(arena) {}

  /// Bytes that were touched since this piece was touched last, its own included: what a cache must hold so that all
  /// of it is still there. Infinite where it was never touched. It is the last one touched from now on.
  double touch(size_t piece, double bytes, bool in_arena);

 private:
  struct Piece {
    size_t number = 0;
    double bytes = 0;
    bool in_arena = false;
  };
  double arena_;
  std::list<Piece> recent_;  // the last one touched first
  std::unordered_map<size_t, std::list<Piece>::iterator> places_;
};

/// Of bytes whose reuse needs `distance` bytes of cache, how many must come from beyond a cache of `capacity`: what
/// does not fit, even if the cache kept the best.
double beyond(double bytes, double distance, double capacity);

}  // namespace tenon::roofs
