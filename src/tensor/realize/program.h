// A compiled program of lazy tensors.
#pragma once

#include <memory>
#include <vector>

#include "tenon/compile.h"
#include "tensor/realize/pending.h"

namespace tenon::compiler {
struct Lowered;
}

namespace tenon::tensors {

class WeightPrograms;

/// A compiled program for every Pending of one structure, at any sizes of its symbols.
struct Program {
  Graph graph;
  Executable executable;
  std::vector<int> aliases;  // of each output: the leaf whose memory it may take over, or -1
  /// Of each output: the step before which a run may end early (with an Error, or cancelled) and leave the memory that
  /// the output would take over as it was. -1 where something that can fail (a position out of range) comes later: the
  /// output must not take memory over.
  std::vector<int> first_write;
  int kernels = 0;                                        // launches of compiled code and of library routines
  int64_t constant_bytes = 0;                             // of what the executable keeps as constants
  std::shared_ptr<const Pending> plain = {};              // what it was made for, under the names of `graph`
  std::shared_ptr<const compiler::Lowered> lowered = {};  // how it was made, where somebody explains (tenon/explain.h)
  std::shared_ptr<WeightPrograms> weights = {};           // versions of it in which weights are constants (weights.h)
};

/// The roots of a Pending on inputs of its own, as a graph: outputs y0, y1, ...
Graph graph_of(const Pending& plain, const std::vector<int>& aliases);
/// The same with other inputs than the leaves, which may be constants.
Graph graph_of(const Pending& plain, std::vector<Value> inputs, const std::vector<int>& aliases);

/// `graph`, compiled; of the result `graph`, `plain` and `weights` are the caller's to fill in.
std::shared_ptr<Program> compile_program(const Graph& graph, const std::vector<int>& aliases,
                                         const CompileOptions& options);

}  // namespace tenon::tensors
