// The fields of a program that are compared and written one by one.
#pragma once

#include <tuple>

#include "kernel/program/program.h"

namespace tenon {

/// References to all but the loops, which code is made from, and the constants, which are compared by their bits.
template <class AnyProgram>
auto fields_of(AnyProgram& x) {
  return std::tie(x.name, x.inputs, x.outputs, x.buffers, x.layouts, x.facts, x.steps, x.regions, x.pipelines,
                  x.most_row_bytes, x.least_shared_work);
}

}  // namespace tenon
