// The part of verify() that is about blocks of threads.
#pragma once

#include "kernel/loop/loop.h"

namespace tenon::loops {

/// TENON_CHECKs what Binding, Scope, Barrier and Accumulator say of blocks of threads. What the kernel refers to must
/// exist.
void verify_threads(const Kernel& kernel);

}  // namespace tenon::loops
