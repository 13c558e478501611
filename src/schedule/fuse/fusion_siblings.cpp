// Kernels that read the same array become one.
#include <algorithm>

#include "schedule/fuse/attempts.h"
#include "schedule/fuse/fusion.h"

namespace tenon::schedule {

/// Join two kernels of those that read the value, and say whether there were two. Where a kernel reads a larger array
/// as well, the one load that it would save does not count.
bool Fusion::try_siblings(const Value& value) {
  std::vector<int> readers;
  std::vector<int> others;  // that read a larger array
  for (const int id : clusters_reading(value)) {
    if (roles_.of(*clusters_.at(id).nodes[0]) == NodeRole::loop) {
      (bytes(value) >= largest_read(id) ? readers : others).push_back(id);
    }
  }
  for (size_t i = 0; i < readers.size(); ++i) {
    for (size_t j = i + 1; j < readers.size(); ++j) {
      if (try_merge(readers[i], readers[j], true)) {
        return true;
      }
    }
  }
  for (const int other : others) {
    for (const std::vector<int>* const with : {&readers, &others}) {
      for (const int id : *with) {
        if (id != other) {
          AttemptLog::record([&] {
            return FusionAttempt{.rule = kSiblingRule,
                                 .first = clusters_.at(other).nodes,
                                 .second = clusters_.at(id).nodes,
                                 .finding = "what they have in common is not the largest array that the first reads"};
          });
        }
      }
    }
  }
  return false;
}

void Fusion::fuse_siblings() {
  for (const Node* node : graph_.nodes()) {
    while (try_siblings(Value(node, 0))) {
    }
  }
}

}  // namespace tenon::schedule
