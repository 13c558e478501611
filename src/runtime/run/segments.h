// Programs that run one after the other, since the sizes of the later ones only data decide.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel/abi.h"
#include "kernel/program/program.h"
#include "runtime/run/make_executable.h"
#include "shape/constraint_set.h"

namespace tenon {

/// Where a value comes from: an output of a segment, or, of segment -1, an input of the whole.
struct SegmentSource {
  int segment = -1;
  int index = 0;

  friend bool operator==(const SegmentSource&, const SegmentSource&) = default;
};

/// A name that gets its size when a segment has run.
struct BoundAxis {
  std::string name;
  Extent at_most;     // room that there is, in elements
  int positions = 0;  // the output that has it: of the room, as many elements as
  int count = 0;      // this output says
  std::string place;  // of the node that decides it
};

struct Segment {
  Program program;
  std::vector<KernelEntry> code;  // an entry for each kernel
  std::vector<SegmentSource> inputs;
  std::vector<BoundAxis> binds;
  ConstraintSet constraints;  // on the names that are bound before it runs
};

struct Segments {
  Program whole;  // name, inputs and outputs of all together; no steps
  std::vector<Segment> segments;
  std::vector<SegmentSource> outputs;
  std::set<std::string, std::less<>> late;  // all names that segments bind
};

/// Each segment runs at the names bound so far, with a cache of its own; values between them are freed after their last
/// use. `constraints` of the first segment are those that hold before anything runs.
Executable make_executable(Segments segments, std::shared_ptr<void> keep_alive, const RuntimeOptions& options = {});

}  // namespace tenon
