// Which maxima and minima need not look for NaN.
#pragma once

#include "schedule/draft/draft.h"

namespace tenon::schedule {

/// Sets Accumulator::may_skip_nan where no store can tell: whatever is made of the extreme is also made of a sum of the
/// same elements, which is NaN when one of them is. So in a softmax, whose powers about the maximum are divided by
/// their sum. To look for NaN would take more instructions than the extreme itself.
void mark_skipped_nan(Draft& draft);

}  // namespace tenon::schedule
