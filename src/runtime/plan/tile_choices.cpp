#include "runtime/plan/tile_choices.h"

#include <bit>
#include <cstdint>

namespace tenon::runtime {
namespace {

int64_t round_size(int64_t size) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  return size < 1 || size > kLarge ? size : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
}

}  // namespace

Bindings round_sizes(const Bindings& bindings) {
  Bindings rounded;
  for (const auto& [name, size] : bindings) {
    rounded.set(name, round_size(size));
  }
  return rounded;
}

TileChoices::List TileChoices::find_or_make(const Plan& plan, const Bindings& rounded,
                                            const std::function<std::vector<RegionCut>()>& make) {
  Key key{&plan, {}};
  for (const std::string& name : plan.names) {
    key.second.push_back(rounded.at(name));
  }
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(key); found != kept_.end()) {
      return found->second;
    }
  }
  auto made = std::make_shared<const std::vector<RegionCut>>(make());
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kMostKept) {
    kept_.clear();
  }
  return kept_.emplace(std::move(key), std::move(made)).first->second;
}

}  // namespace tenon::runtime
