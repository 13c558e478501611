// What was chosen for the regions of a program, by sizes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/plan/choose_regions.h"

namespace tenon::runtime {

/// The sizes that stand for all that are near them: each is the next power of two. To choose tiles takes ten times what
/// the rest of a specialization takes, and depends little on the sizes: so it is done once for these.
Bindings round_sizes(const Bindings& bindings);

/// Keeps choices of one program and of its bodies by rounded sizes, at most kMostKept of them. Which sizes came before
/// changes nothing. Safe for any number of threads.
class TileChoices {
 public:
  using List = std::shared_ptr<const std::vector<RegionCut>>;
  static constexpr size_t kMostKept = 512;

  /// What is kept of a plan at rounded sizes; null where nothing is.
  List find(const Plan& plan, const Bindings& rounded) const;
  /// Keep what was chosen; what was kept meanwhile stays, and is given back.
  List keep(const Plan& plan, const Bindings& rounded, std::vector<RegionCut> made);

 private:
  using Key = std::pair<const Plan*, std::vector<int64_t>>;
  static Key key(const Plan& plan, const Bindings& rounded);

  mutable std::mutex mutex_;
  std::map<Key, List> kept_;
};

}  // namespace tenon::runtime
