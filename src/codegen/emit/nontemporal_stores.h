// Which loops may store past the caches.
#pragma once

#include <vector>

#include "codegen/target/target.h"
#include "kernel/loop/loop.h"

namespace tenon::codegen {

/// A loop whose store to an output, the only one, has a form for this. A store reads the line that it writes to, and
/// pushes another out of the caches for it: with more bytes than caches hold both is in vain, and instructions that
/// write whole lines to memory save a third of the traffic. How many bytes there are, and whether rows begin with
/// lines, is known when the kernel runs, so each step of such a loop asks. The loops do little but store, because else
/// memory does not bound them; they reduce nothing; and nobody in the kernel reads what they store.
struct StreamedStore {
  const loops::Loop* loop = nullptr;
  const loops::Store* store = nullptr;
};

std::vector<StreamedStore> plan_streamed_stores(const loops::Kernel& kernel, const Target& target);

}  // namespace tenon::codegen
