// Programs that run one after the other, since the sizes of the later ones only data decide. Most often there is one.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "devices/device.h"
#include "kernel/program/program.h"
#include "kernel/program/signature.h"
#include "shape/constraint_set.h"

namespace tenon::runtime {

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
  std::vector<SegmentSource> inputs;
  std::vector<BoundAxis> binds;
  ConstraintSet constraints;  // on the names that are bound before it runs
};

struct Segments {
  std::shared_ptr<const devices::LoadedCode> code;  // of all_kernels() of each program, one after the other
  Signature signature;                              // of all together, as the user knows them
  std::vector<Segment> segments;  // one that binds nothing has the inputs and outputs of the whole, in their order
  std::vector<SegmentSource> outputs;
  std::set<std::string, std::less<>> late;  // all names that segments bind
};

}  // namespace tenon::runtime
