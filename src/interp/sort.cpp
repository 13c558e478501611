#include "base/fail.h"
#include "interp/evaluate.h"

namespace tenon {

Arrays evaluate(const Sort&, const Evaluation&) { fail("not there yet"); }

}  // namespace tenon
