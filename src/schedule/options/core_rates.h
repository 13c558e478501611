// What a core does in a cycle, roughly, for all who weigh arithmetic against memory: usual of servers, x86 and ARM.
#pragma once

namespace tenon::schedule {

inline constexpr double kVectorsPerCycle = 2;  // instructions on whole vectors
inline constexpr double kBytesPerCycle = 8;    // to and from memory that its own caches do not hold

}  // namespace tenon::schedule
