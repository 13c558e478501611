// What the machine can do at most.
#pragma once

namespace bench {

/// Additions and multiplications of f32 a second, of one core and at this moment: others on the machine, and its clock,
/// change it. Measured by the highest tile of our products over the same few elements again and again, which never
/// leave registers and the first cache. Takes about a millisecond, and some more when called first.
double peak_flops();

}  // namespace bench
