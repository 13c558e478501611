// What moves between the parts of a plan.
#pragma once

#include <span>

#include "partition/work/sized.h"

namespace tenon::partition {

/// What one part takes and gives. A tensor that several parts compute comes from the last of them before its reader.
struct PartFlow {
  struct In {
    int tensor = -1;
    int from = -1;  // a part; -1: an input of the graph, a weight, or state that this part updates in place
    int64_t bytes = 0;
  };
  std::vector<In> in;
  std::vector<int> out;  // that other parts or the caller read
};

/// Error, naming the operator: it reads what no part before has computed.
std::vector<PartFlow> flow_of(const SizedGraph& graph, std::span<const Part> parts);

/// What enters and leaves some operators, wherever it comes from: `from` is -1 of all.
PartFlow flow_alone(const SizedGraph& graph, std::span<const int> operators);

/// Tensors that another part reads, one for each that does: by part, tensor and reader.
std::vector<Transfer> transfers_of(std::span<const PartFlow> flow);

/// Of each part, the operators that another part computes too and whose results here nobody reads before that, in
/// order.
std::vector<std::vector<int>> unread(const SizedGraph& graph, std::span<const Part> parts);

/// Bytes of activations that are alive while each part runs: its own inputs and outputs, what later parts will read,
/// inputs of the graph until their last reader, outputs until the end. State that is updated in place is no activation.
std::vector<int64_t> live_bytes(const SizedGraph& graph, std::span<const PartFlow> flow);

}  // namespace tenon::partition
