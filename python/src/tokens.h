// Language models: sampling and the generator of tokens.
#pragma once

#include "bind.h"

namespace tenon::python {

void bind_tokens(nb::module_& m);

}  // namespace tenon::python
