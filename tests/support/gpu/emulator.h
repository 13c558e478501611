// What tests may ask of the emulated GPU beside the driver's own functions.
#pragma once

#include <cstdint>

extern "C" {

/// Faults, work that waits and settings are forgotten. Memory stays.
void tenon_emulator_reset();
/// devices, driver, major, minor, pools, links, shared, multiprocessors, memory. 0 where it is known.
int tenon_emulator_set(const char* what, int64_t value);
/// instructions (times threads), launches, links, compiles, modules, allocations, bytes; -1: it is not known.
int64_t tenon_emulator_count(const char* what);
}
