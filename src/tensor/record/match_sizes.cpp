#include "tensor/record/match_sizes.h"

#include <algorithm>

#include "tensor/record/symbols.h"

namespace tenon::tensors {
namespace {

/// Axes of both sides that have as many elements as each other.
struct MatchedPart {
  std::vector<Extent> from;
  std::vector<int64_t> to;
};

/// Numbers, with the extents of `part` where they fit.
std::vector<Extent> match_part(const MatchedPart& part) {
  std::vector<Extent> result(part.to.begin(), part.to.end());
  Extent rest = 1;
  for (const Extent& extent : part.from) {
    rest *= extent;
  }
  if (rest.is_constant()) {
    return result;
  }
  std::vector<bool> taken(part.to.size(), false);
  for (const Extent& extent : part.from) {  // whole axes first
    if (extent.is_constant() || part.to.size() == 1) {
      continue;
    }
    for (size_t i = 0; i < part.to.size(); ++i) {
      const auto quotient = divide_exactly(rest, extent);
      if (!taken[i] && quotient && size_of(extent) == part.to[i]) {
        taken[i] = true;
        result[i] = extent;
        rest = *quotient;
        break;
      }
    }
  }
  for (const std::string& name : rest.names()) {  // then axes that were merged: n*m as [n, m]
    const Extent extent = Extent::name(name);
    for (size_t i = 0; i < part.to.size() && part.to.size() > 1; ++i) {
      const auto quotient = divide_exactly(rest, extent);
      if (!taken[i] && quotient && size_of(extent) == part.to[i]) {
        taken[i] = true;
        result[i] = extent;
        rest = *quotient;
        break;
      }
    }
  }
  if (rest.is_constant()) {
    return result;
  }
  for (size_t i = 0; i < part.to.size(); ++i) {  // one axis takes what numbers leave
    if (taken[i]) {
      continue;
    }
    Extent others = 1;
    for (size_t k = 0; k < part.to.size(); ++k) {
      others *= k == i || taken[k] ? Extent(1) : Extent(part.to[k]);
    }
    const auto quotient = divide_exactly(rest, others);
    if (quotient && size_of(*quotient) == part.to[i]) {
      result[i] = *quotient;
      return result;
    }
  }
  return {part.to.begin(), part.to.end()};
}

std::vector<Axis> plain_axes(const std::vector<int64_t>& sizes) { return {sizes.begin(), sizes.end()}; }

}  // namespace

std::vector<Axis> match_reshape(const Shape& from, const std::vector<int64_t>& to) {
  std::vector<int64_t> sizes;
  for (const Axis& axis : from.axes()) {
    const auto size = size_of(axis.extent());
    if (!size || *size == 0) {
      return plain_axes(to);
    }
    sizes.push_back(*size);
  }
  std::vector<Axis> result;
  size_t i = 0;
  size_t j = 0;
  while (i < sizes.size() || j < to.size()) {
    MatchedPart part;
    int64_t have = 1;
    int64_t need = 1;
    do {  // the shortest part of both sides with equally many elements
      if (i < sizes.size() && (have <= need || j == to.size())) {
        have *= sizes[i];
        part.from.push_back(from.extent(static_cast<int>(i++)));
      } else if (j < to.size()) {
        need *= to[j];
        part.to.push_back(to[j++]);
      } else {
        return plain_axes(to);
      }
    } while (have != need || part.to.empty() != part.from.empty());
    for (Extent& extent : match_part(part)) {
      result.emplace_back(std::move(extent));
    }
    if (i == sizes.size() &&
        std::all_of(to.begin() + static_cast<int64_t>(j), to.end(), [](int64_t size) { return size == 1; })) {
      for (; j < to.size(); ++j) {
        result.emplace_back(1);
      }
    }
    if (j == to.size() &&
        std::all_of(sizes.begin() + static_cast<int64_t>(i), sizes.end(), [](int64_t size) { return size == 1; })) {
      break;
    }
  }
  return result;
}

std::vector<Axis> match_broadcast(const Shape& from, const std::vector<int64_t>& to) {
  std::vector<Axis> result = plain_axes(to);
  const size_t rank = static_cast<size_t>(from.rank());
  for (size_t i = 0; i < std::min(rank, to.size()); ++i) {
    const Axis& axis = from.axes()[rank - 1 - i];
    const size_t at = to.size() - 1 - i;
    if (axis.is_dynamic() && size_of(axis.extent()) == to[at]) {
      result[at] = axis;
    }
  }
  return result;
}

}  // namespace tenon::tensors
