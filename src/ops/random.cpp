#include "base/fail.h"
#include "ops/infer.h"

namespace tenon {

Inferred infer(const Random&, Operands) { fail("not there yet"); }

}  // namespace tenon
