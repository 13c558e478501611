#include "base/fail.h"
#include "interp/evaluate.h"

namespace tenon {

Arrays evaluate(const Conv&, const Evaluation&) { fail("not there yet"); }

}  // namespace tenon
