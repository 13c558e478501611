// Programs by structure: what lazy tensors have compiled.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tenon/compile.h"
#include "tensor/realize/pending.h"

namespace tenon::tensors {

/// A compiled program for every Pending of one structure, at any sizes of its symbols.
struct Program {
  Graph graph;
  Executable executable;
  std::vector<int> aliases;  // of each output: the leaf whose memory it may take over, or -1
  /// Of each output: the step before which a run may end early (with an Error, or cancelled) and leave the memory that
  /// the output would take over as it was. -1 where something that can fail (a position out of range) comes later: the
  /// output must not take memory over.
  std::vector<int> first_write;
  int kernels = 0;                            // launches of compiled code and of library routines
  std::shared_ptr<const Pending> plain = {};  // what it was made for, under the names of `graph`
};

/// A program that computes the roots of a Pending from its leaves.
struct FoundProgram {
  std::shared_ptr<const Program> program;
  Bindings bindings = {};  // sizes of names that no leaf has
  bool compiled = false;
  double compile_ms = 0;
};

/// What find_program() would compile.
Graph plain_graph(const Pending& pending, const std::vector<int>& aliases);

/// What programs are compiled with from now on; those that there are stay. For tests.
void set_compile_options(const CompileOptions& options);

/// The program for this structure, compiled if there is none. `aliases` say which leaf's memory each root may take
/// over; they count as structure. A program of which this is a case at certain sizes serves too. Where two of the same
/// structure but for sizes have come from `place` before, those that differ become symbols (generalize.h).
FoundProgram find_program(const Pending& pending, const std::vector<int>& aliases, std::string_view place = {});

}  // namespace tenon::tensors
