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

TileChoices::Key TileChoices::key(const Plan& plan, const Bindings& rounded) {
  Key key{&plan, {}};
  for (const std::string& name : plan.names) {
    key.second.push_back(rounded.at(name));
  }
  return key;
}

TileChoices::List TileChoices::find(const Plan& plan, const Bindings& rounded) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key(plan, rounded));
  return found != kept_.end() ? found->second : nullptr;
}

TileChoices::List TileChoices::keep(const Plan& plan, const Bindings& rounded, std::vector<RegionCut> made) {
  auto list = std::make_shared<const std::vector<RegionCut>>(std::move(made));
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kMostKept) {
    kept_.clear();
  }
  return kept_.emplace(key(plan, rounded), std::move(list)).first->second;
}

}  // namespace tenon::runtime
