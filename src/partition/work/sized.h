// A work graph at a binding: plain numbers, which strategies, partitioners and the verifier work on.
#pragma once

#include <string>
#include <vector>

#include "tenon/partition.h"

namespace tenon::partition {

struct SizedRead {
  int tensor = -1;
  int64_t bytes = 0;
};

struct SizedTensor {
  int64_t bytes = 0;
  int producer = -1;
  std::vector<int> readers = {};
  bool weight = false;
  bool output = false;
  bool in_place = false;
  uint64_t shape = 0;  // equal for tensors of one shape
  int64_t kept = 0;

  int64_t written() const { return bytes - kept; }
};

struct SizedOperator {
  std::string name;
  std::string dtype = "f32";
  Role role = Role::map;
  std::vector<SizedRead> reads = {};
  std::vector<int> writes = {};
  double flops = 0;
  int64_t parallelism = 1;
  int64_t least_bytes = 0;
  uint64_t structure = 0;
};

/// Operators stand in an order that operands precede.
struct SizedGraph {
  std::string model;
  std::vector<SizedOperator> operators;
  std::vector<SizedTensor> tensors;

  const SizedOperator& op(int index) const { return operators[static_cast<size_t>(index)]; }
  const SizedTensor& tensor(int index) const { return tensors[static_cast<size_t>(index)]; }
  int size() const { return static_cast<int>(operators.size()); }
  /// Activations that it reads which other operators compute.
  std::vector<int> producers(int index) const;
};

/// Error for a name without a size, or a size that is negative.
SizedGraph sized(const WorkGraph& work, const Bindings& bindings);

/// Of names and structure: the same at all sizes.
uint64_t hash_of(const SizedGraph& graph);

/// Fill in producers and readers of tensors from what operators read and write: for graphs made by hand.
void link(SizedGraph& graph);

}  // namespace tenon::partition
