#include "runtime/memory/address_ranges.h"

#include <algorithm>

namespace tenon::runtime {

void AddressRanges::assign(const std::vector<Operand>& operands, Which which) {
  sorted_.clear();
  for (size_t i = 0; i < operands.size(); ++i) {
    const AddressRange range = address_range(operands[i]);
    if (range.begin < range.end && (which == Which::all || operands[i].is_plain())) {
      sorted_.push_back({.range = range, .place = i});
    }
  }
  std::ranges::sort(sorted_, {}, [](const Entry& entry) { return entry.range.begin; });
  uintptr_t reach = 0;
  for (Entry& entry : sorted_) {
    reach = entry.reach = std::max(reach, entry.range.end);
  }
}

size_t AddressRanges::count_overlaps(const AddressRange& range) const {
  auto entry = std::ranges::lower_bound(sorted_, range.end, {}, [](const Entry& e) { return e.range.begin; });
  size_t count = 0;
  while (entry != sorted_.begin() && (--entry)->reach > range.begin) {
    count += entry->range.overlaps(range) ? 1U : 0U;
  }
  return count;
}

AddressRanges::Pair AddressRanges::overlapping() const {
  for (size_t i = 1; i < sorted_.size(); ++i) {
    if (sorted_[i].range.begin < sorted_[i - 1].reach) {
      const auto other =
          std::ranges::find_if(sorted_, [&](const Entry& e) { return e.range.overlaps(sorted_[i].range); });
      return {.first = other->place, .second = sorted_[i].place};
    }
  }
  return {};
}

}  // namespace tenon::runtime
