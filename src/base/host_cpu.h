// The processor that runs this program.
#pragma once

#include <cstdint>

#include "tenon/machine.h"

namespace tenon {

/// Its facts: instructions as far as the operating system has switched them on, cores of this process, caches. The
/// matrix unit of x86 counts when the system grants it to this process, which is asked for here.
CpuMachine host_cpu();

/// The instructions of an ARM64 processor by the capability words that Linux gives a program (AT_HWCAP, AT_HWCAP2) and
/// the bits of SVE's vectors. Nothing else is asked: the model of a processor may imply what the system has switched
/// off.
CpuMachine arm_cpu(uint64_t hwcap, uint64_t hwcap2, int64_t sve_bits);

}  // namespace tenon
