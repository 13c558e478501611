// What the machine can do at most.
#pragma once

namespace bench {

/// Additions and multiplications of f32 a second, of one core and at this moment: others on the machine, and its clock,
/// change it. Measured by multiply-adds of the machine's widest vectors on values in registers, with nothing else in
/// the loop: no product can be faster. Takes about a millisecond.
double peak_flops();

}  // namespace bench
