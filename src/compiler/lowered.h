// A graph that is compiled but for machine code: all that compile() decides, to look at. What runs, what the command
// explains and what benches measure are read from one such value.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "kernel/program/program.h"
#include "kernel/program/signature.h"
#include "runtime/run/make_executable.h"
#include "schedule/schedule.h"
#include "shape/constraint_set.h"
#include "tenon/compile.h"

namespace tenon::compiler {

/// A part of the graph that runs without knowing sizes that data decide in it or behind it.
struct LoweredSegment {
  Graph graph;                                  // holds all nodes that are named below
  Program program;                              // what runs it
  std::vector<std::vector<const Node*>> nodes;  // that each step of the program computes: schedule::Scheduled::nodes
  std::vector<std::vector<schedule::ScheduledBody>> bodies;  // schedule::Scheduled::bodies
  std::vector<runtime::SegmentSource> inputs;                // one for each input of the graph
  std::vector<runtime::BoundAxis> binds;                     // names that have sizes when it has run
  ConstraintSet constraints;                                 // on the names that are bound before it runs
};

/// One step with the program that it is of. Points into a Lowered.
struct LoweredStep {
  const Program& program;
  const Step& step;
  const std::vector<const Node*>& nodes;  // what it computes
};

struct Lowered {
  Graph given;                                  // errors and reports speak of it
  Graph optimized;                              // what the passes left
  Machine machine;                              // that its kernels are for
  Signature signature;                          // of `given`
  std::vector<LoweredSegment> segments;         // one, unless data decide sizes
  std::vector<runtime::SegmentSource> outputs;  // of the whole
  double milliseconds = 0;                      // that it took to make

  /// Of all segments, in the order of Executable::steps().
  std::vector<LoweredStep> steps() const&;
  std::vector<LoweredStep> steps() const&& = delete;  // they point into it

  /// Of all segments, those of bodies included, in the order of their code.
  std::vector<const loops::Kernel*> kernels() const;
};

/// Passes, segments, schedules. `report` gets the passes and the times. Error for options that the graph does not bear.
Lowered lower(const Graph& graph, const CompileOptions& options, CompileReport& report);

/// Every name of what the outputs need, also those that no kernel needs in the end.
std::vector<std::string> names_of(const Graph& graph);

/// What makes the code of kernels.
struct CodeChoice {
  bool native = true;  // else the loop interpreter
  backend::CodeOptions options = {};
};
CodeChoice code_choice(const CompileOptions& options);

/// What runs but for loaded code, and the code as a module that any process can load.
struct ForFile {
  runtime::Segments segments;
  std::vector<std::string> names;  // RuntimeOptions::names
  devices::Module module;
};
/// Code for kernels whose machine need not be this one. Constants are laid out beside it.
ForFile compile_for_file(Lowered lowered, const CodeChoice& code);

/// What is left of compile(): code for the kernels, and the executable. `report` gets them. `options` are what a test
/// asks of the runtime; time, code and names are filled in.
Executable compile(Lowered lowered, const CodeChoice& code, CompileReport& report,
                   runtime::RuntimeOptions options = {});

}  // namespace tenon::compiler
