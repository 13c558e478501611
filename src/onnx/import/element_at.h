// One element of a value of any size, at a place that is itself symbolic.
#pragma once

#include <optional>
#include <vector>

#include "ir/node.h"

namespace tenon::importer {

/// The whole number at `place` (a position along each axis), followed through counters, arithmetic and views:
///   expand(unsqueeze(range(past, past+seq))), at [i, j] -> past+j
/// Nothing when it is not known, or when finding out takes long.
std::optional<Extent> element_at(const Value& value, const std::vector<Extent>& place);

/// Positions as ScatterND takes them, [place..., axis], that are those of one slice: along axis i they are start[i]
/// plus place i. Gives `start`, none of it negative; nothing for other positions.
std::optional<std::vector<Extent>> grid_start(const Value& positions);

}  // namespace tenon::importer
