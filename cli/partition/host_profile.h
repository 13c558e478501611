// This machine as a hardware profile, measured.
#pragma once

#include "tenon/partition.h"

namespace tenon::cli {

/// Small graphs are compiled and run for about a second: products, convolutions without mixing, elementwise functions,
/// rows and pools in cache, memory bandwidth, and what a launch costs. Figures differ a little from call to call.
partition::Profile host_profile();

}  // namespace tenon::cli
