// The loops behind a product over the columns of its tile.
#pragma once

#include <vector>

#include "schedule/draft/draft.h"

namespace tenon::schedule {

/// Loops of these stores over the last of `columns` become one where all that is read and stored counts them as one and
/// the last is too short for vectors: gradients of weights, whose windows are 3 x 3, are updated row by row.
///   before: loop i1 of 21, loop i2 of 3, loop i3 of 3: y[9*i1 + 3*i2 + i3] = tile[9*i1 + 3*i2 + i3] * 2
///   after:  loop j of 189: y[j] = tile[j] * 2
void join_columns(Draft& draft, const std::vector<size_t>& stores, const std::vector<int>& columns);

}  // namespace tenon::schedule
