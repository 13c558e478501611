#include "base/fail.h"
#include "interp/evaluate.h"

namespace tenon {

Arrays evaluate(const If&, const Evaluation&) { fail("not there yet"); }

Arrays evaluate(const Loop&, const Evaluation&) { fail("not there yet"); }

}  // namespace tenon
