// What the loops of a phase write, and whether it is there for later loops: the verifier's notes.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// A store or the tile of a product.
struct Write {
  int buffer = 0;
  const Affine* at = nullptr;
  int value = -1;        // what is stored; none of a product
  int counts = -1;       // the axis whose iterations add to it
  bool updates = false;  // it is made of what lies there: that holds what all iterations around made of it
};

/// Whether a stored value is made of what lies where it is stored.
bool updates(const Kernel& kernel, const Store& store);

/// The writes of a phase, in order. Must not outlive the kernel.
class Writes {
 public:
  explicit Writes(const Kernel& kernel) : kernel_(kernel) {}

  void clear() { all_.clear(); }
  void add(const Write& write) { all_.push_back(write); }
  size_t count() const { return all_.size(); }

  /// Scratch that a loop over `axis` wrote, from write number `first` on, at addresses that do not depend on the axis:
  /// it holds what the last iteration wrote alone. Buffers whose elements are the same in all iterations, or that each
  /// iteration has for itself, are not among it. `outside` says which values were defined before the loop.
  std::vector<int> of_last_iteration(int axis, size_t first, const std::vector<bool>& outside) const;

 private:
  struct Loop {
    int axis = 0;
    size_t first = 0;
    const std::vector<bool>& outside;
    std::unordered_map<int, bool> known = {};  // by value: whether it varies
  };

  bool varies(int value, Loop& loop) const;
  bool find_whether_varies(int value, Loop& loop) const;

  const Kernel& kernel_;
  std::vector<Write> all_;
};

}  // namespace tenon::loops
