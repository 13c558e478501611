// What one rank of a mesh runs, as data: everything but the code of its graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/program/signature.h"
#include "mesh/split/collective.h"
#include "shape/constraint_set.h"

namespace tenon::mesh {

/// Values are numbers here: first the inputs of the rank, then whatever segments and collectives give.
struct SegmentPlan {
  std::vector<size_t> takes, gives;  // no gives: there is nothing to run
  std::vector<size_t> collectives;   // of RankPlan, after the graph has run
};

/// Segments run in order. A segment has every operation whose operands went through as many collectives as it has
/// segments before it, so that as many collectives as possible stand together. Outputs are numbers of values.
struct RankPlan {
  MeshShape mesh;
  std::vector<int> coordinates;
  Signature whole;  // of the graph that was shared out
  ConstraintSet constraints;
  std::vector<Layout> input_layouts, output_layouts;
  std::vector<Collective> collectives;  // without their values
  std::vector<SegmentPlan> segments;
  std::vector<size_t> outputs;
  std::vector<size_t> sources, results;  // of each collective
  size_t value_count = 0;
  uint64_t fingerprint = 0;  // the same on all ranks that run the same program
};

}  // namespace tenon::mesh
