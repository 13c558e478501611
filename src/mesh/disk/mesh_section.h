// What a program's file says of the ranks of a mesh: the section `mesh`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mesh/split/rank_plan.h"
#include "saved/segments_bytes.h"

namespace tenon::mesh {

/// A rank's part of an input whose value is in the file.
struct SavedValue {
  uint64_t input = 0;  // of MeshSection::whole
  saved::ConstantReference constant;
};

/// What differs between ranks.
struct SavedRank {
  std::vector<SegmentPlan> segments;
  std::vector<int> parts;  // of each segment: the file's part that has its graph; -1: it gives nothing
  std::vector<size_t> outputs, sources, results;
  size_t value_count = 0;
  std::vector<Extent> collective_bytes;
  std::vector<SavedValue> values;
};

struct MeshSection {
  std::string mesh, shard;  // as text
  Signature whole;
  std::string sizes;  // that the values bind: bindings as text
  std::vector<Layout> input_layouts, output_layouts;
  std::vector<Collective> collectives;  // without bytes, which ranks have
  std::vector<SavedRank> ranks;
};

std::vector<std::byte> to_bytes(const MeshSection& section);
/// What to_bytes() wrote. Error: other bytes; numbers of values, collectives, parts or axes that are not there.
MeshSection mesh_section_from_bytes(std::span<const std::byte> bytes);

}  // namespace tenon::mesh
