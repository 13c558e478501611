// Non-temporal stores: which loops may write their output past the caches.
#pragma once

#include <vector>

#include "kernel/loop/loop.h"
#include "native/target.h"

namespace tenon::codegen {

/// A loop and its store to an output, the only one, that may be non-temporal: an ordinary store reads the line that it
/// writes to and evicts another for it, which is in vain for more bytes than caches hold; writing whole lines to memory
/// saves a third of the traffic. The number of bytes, and whether rows begin with lines, is known when the kernel runs,
/// so each step of such a loop tests a flag. The loop does little but store, because else memory does not bound it; it
/// reduces nothing; and nothing in the kernel reads what it stores.
struct NontemporalStore {
  const loops::Loop* loop = nullptr;
  const loops::Store* store = nullptr;
};

std::vector<NontemporalStore> plan_nontemporal_stores(const loops::Kernel& kernel, const Target& target);

}  // namespace tenon::codegen
