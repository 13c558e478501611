// Long reductions that each thread would run alone.
#pragma once

#include "kernel/loop/loop.h"

namespace tenon::schedule {

/// Whether each thread of a mapped kernel of one phase runs a reduction of its own that is long, or may be.
bool has_long_sums(const loops::Kernel& kernel);

/// Cuts these reductions into parts: a phase in which a block has a part, and one that combines what the parts gave.
///   before  grid(g) thread t { loop i begins a { a += f(i, t) }  y[t] = a }
///   after   grid(g, p) thread t { loop i of part p begins a { a += f(i, t) }  partial[p, t] = a }
///           grid(g) thread t { loop p begins b { b += partial[p, t] }  y[t] = b }
/// How long the parts are depends on sizes alone. The kernel has has_long_sums().
void split_sums(loops::Kernel& kernel);

}  // namespace tenon::schedule
