#include "tensor/realize/generalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/refused.h"
#include "tensor/realize/extents.h"
#include "tensor/record/record.h"
#include "tensor/record/symbols.h"

namespace tenon::tensors {
namespace {

/// An extent with numbers for all symbols: names that are left are decided by data.
Extent numbered(const Extent& extent) {
  if (extent.is_constant()) {
    return extent;
  }
  passes::Substitution by;
  for (const std::string& name : extent.names()) {
    if (const auto info = symbol_info(name)) {
      by.emplace(name, Extent(info->size));
    }
  }
  return extent.substitute(by);
}

/// What one size was now and in each recording before.
using SizeHistory = std::vector<int64_t>;

/// a, such that v is a * g everywhere.
std::optional<int64_t> factor(const SizeHistory& v, const SizeHistory& g) {
  const auto at = std::ranges::find_if(g, [](int64_t size) { return size != 0; });
  if (at == g.end()) {
    return {};
  }
  const auto i = static_cast<size_t>(at - g.begin());
  const int64_t a = v[i] / g[i];
  for (size_t k = 0; k < v.size(); ++k) {
    if (v[k] != a * g[k]) {
      return {};
    }
  }
  return a;
}

SizeHistory less(const SizeHistory& v, int64_t number) {
  SizeHistory result = v;
  std::ranges::for_each(result, [&](int64_t& size) { size -= number; });
  return result;
}

SizeHistory product(const SizeHistory& a, const SizeHistory& b) {
  SizeHistory result = a;
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] *= b[i];
  }
  return result;
}

bool is_constant(const SizeHistory& v) {
  return std::ranges::all_of(v, [&](int64_t size) { return size == v.front(); });
}

/// Sizes that change, and the symbols that they are or follow from.
class ChangingSizes {
 public:
  /// A symbol that the recording has.
  void add(const SizeHistory& history, const Extent& extent) {
    if (!find(history) && !is_constant(history)) {
      known_.push_back({history, extent});
    }
  }

  /// Nothing for a number that is not what another one is, and that was negative: symbols are sizes.
  std::optional<Extent> express(const SizeHistory& v) {
    if (const auto known = find(v)) {
      return known;
    }
    // Numbers of their own have a base that no other symbol has, so that equal sizes stay two symbols.
    std::optional<Extent> extent = follow(v);
    if (!extent) {
      if (std::ranges::any_of(v, [](int64_t number) { return number < 0; })) {
        return {};
      }
      extent = symbol(fmt::format("n{}", fresh_++), v.front());
    }
    known_.push_back({v, *extent});
    return extent;
  }

 private:
  struct Known {
    SizeHistory history;
    Extent extent;
  };

  /// What it is of those that are known.
  std::optional<Extent> follow(const SizeHistory& v) const {
    for (const Known& g : known_) {
      if (const auto a = factor(v, g.history)) {
        return g.extent * *a;
      }
    }
    for (const Known& g : known_) {
      if (const int64_t shift = v.front() - g.history.front(); less(v, shift) == g.history) {
        return g.extent + shift;
      }
    }
    for (size_t i = 0; i < known_.size(); ++i) {
      for (size_t k = i; k < known_.size(); ++k) {
        if (const auto a = factor(v, product(known_[i].history, known_[k].history))) {
          return known_[i].extent * known_[k].extent * *a;
        }
      }
    }
    return {};
  }

  std::optional<Extent> find(const SizeHistory& v) const {
    const auto at = std::ranges::find(known_, v, &Known::history);
    return at == known_.end() ? std::nullopt : std::optional(at->extent);
  }

  std::vector<Known> known_;
  int fresh_ = 0;
};

/// What each size was; nothing for one that data decide.
std::vector<std::optional<SizeHistory>> histories(const std::vector<AlignedExtents>& all) {
  std::vector<std::optional<SizeHistory>> result;
  for (size_t i = 0; i < all.front().left.size(); ++i) {
    SizeHistory history;
    const auto add = [&](const Extent& extent) {
      if (const auto size = size_of(extent)) {
        history.push_back(*size);
      }
    };
    add(all.front().left[i]);
    std::ranges::for_each(all, [&](const AlignedExtents& one) { add(one.right[i]); });
    result.push_back(history.size() == all.size() + 1 ? std::optional(std::move(history)) : std::nullopt);
  }
  return result;
}

}  // namespace

std::optional<std::map<std::string, int64_t, std::less<>>> sizes_as(const Pending& now, const Pending& general) {
  const auto aligned = align(general, now);
  if (!aligned) {
    return {};
  }
  passes::Substitution by;
  for (size_t i = 0; i < aligned->left.size(); ++i) {
    if (const auto name = aligned->left[i].as_name()) {
      by.try_emplace(*name, numbered(aligned->right[i]));
    }
  }
  for (size_t i = 0; i < aligned->left.size(); ++i) {
    if (!(aligned->left[i].substitute(by) == numbered(aligned->right[i]))) {
      return {};
    }
  }
  std::map<std::string, int64_t, std::less<>> sizes;
  for (const auto& [name, extent] : by) {
    if (extent.is_constant()) {
      if (*extent.constant() < 0) {
        return {};
      }
      sizes.emplace(name, *extent.constant());
    }
  }
  return sizes;
}

std::optional<Pending> generalized(const Pending& now, std::span<const std::shared_ptr<const Pending>> before) {
  std::vector<AlignedExtents> all;
  for (const auto& each : before) {
    auto aligned = align(now, *each);
    if (!aligned) {
      return {};
    }
    all.push_back(std::move(*aligned));
  }
  if (all.empty()) {
    return {};
  }
  const std::vector<std::optional<SizeHistory>> sizes = histories(all);
  std::vector<Extent> extents = all.front().left;
  ChangingSizes changing;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (sizes[i] && extents[i].as_name()) {
      changing.add(*sizes[i], extents[i]);
    }
  }
  bool changed = false;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (sizes[i] && extents[i].is_constant() && !is_constant(*sizes[i])) {
      const std::optional<Extent> extent = changing.express(*sizes[i]);
      if (!extent) {
        return {};
      }
      extents[i] = *extent;
      changed = true;
    }
  }
  if (!changed) {
    return {};
  }
  try {
    Pending result = with_extents(now, extents);
    const bool fits = std::ranges::all_of(
        result.entries(), [](const Entry& entry) { return entry.leaf || all_hold(entry.value.node()); });
    return fits ? std::optional(std::move(result)) : std::nullopt;
  } catch (const Refused&) {
    return {};
  }
}

}  // namespace tenon::tensors
