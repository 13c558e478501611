// Programs by structure: what lazy tensors have compiled.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/compile.h"
#include "tensor/realize/pending.h"
#include "tensor/realize/program.h"

namespace tenon::tensors {

/// A program that computes the roots of a Pending from its leaves.
struct FoundProgram {
  std::shared_ptr<const Program> program;
  Bindings bindings = {};  // sizes of names that no leaf has
  bool compiled = false;
  double compile_ms = 0;
  std::string why = {};  // what differs from the program that ran last at the same place; empty for the first one
};

/// What find_program() would compile.
Graph plain_graph(const Pending& pending, const std::vector<int>& aliases);

/// What programs are compiled with from now on; those that there are stay. For tests.
void set_compile_options(const CompileOptions& options);
CompileOptions compile_options();

/// The program for this structure, compiled if there is none. `aliases` say which leaf's memory each root may take
/// over; they count as structure. A program of which this is a case at certain sizes serves too. Where two of the same
/// structure but for sizes have come from `place` before, those that differ become symbols (generalize.h).
FoundProgram find_program(const Pending& pending, const std::vector<int>& aliases, std::string_view place = {});

}  // namespace tenon::tensors
