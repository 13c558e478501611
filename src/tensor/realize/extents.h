// All sizes of what is to be computed, as a list: of its leaves' axes and of its operations' fields, those of bodies
// too.
#pragma once

#include <optional>
#include <vector>

#include "tensor/realize/pending.h"

namespace tenon::tensors {

/// Sizes of one Pending beside those of another, position by position.
struct AlignedExtents {
  std::vector<Extent> left;
  std::vector<Extent> right;
};
/// Nothing where they differ in more than sizes.
std::optional<AlignedExtents> align(const Pending& left, const Pending& right);

/// Whether two operations differ in sizes alone, if in anything.
bool same_but_for_sizes(const Op& left, const Op& right);

/// The same structure on inputs of its own with these sizes, in the order in which align() lists them. Error for sizes
/// that do not fit each other.
Pending with_extents(const Pending& pending, const std::vector<Extent>& extents);

}  // namespace tenon::tensors
