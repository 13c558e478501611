#include "partition/work/sized.h"

#include <algorithm>

#include "base/fail.h"
#include "base/hash.h"

namespace tenon::partition {
namespace {

int64_t number(const Extent& extent, const Bindings& bindings, const std::string& of) {
  try {
    return evaluate(extent, bindings);
  } catch (const Error& error) {
    fail("operator `{}`: {}", of, error.what());
  }
}

}  // namespace

std::vector<int> SizedGraph::producers(int index) const {
  std::vector<int> result;
  for (const SizedRead& read : op(index).reads) {
    const int producer = tensor(read.tensor).producer;
    if (producer >= 0 && std::ranges::find(result, producer) == result.end()) {
      result.push_back(producer);
    }
  }
  return result;
}

SizedGraph sized(const WorkGraph& work, const Bindings& bindings) {
  SizedGraph graph{.model = work.graph.name(), .operators = {}, .tensors = {}};
  for (const WorkTensor& tensor : work.tensors) {
    graph.tensors.push_back({.bytes = number(tensor.bytes, bindings, tensor.name),
                             .producer = tensor.producer,
                             .readers = tensor.readers,
                             .weight = tensor.weight,
                             .output = tensor.output,
                             .in_place = tensor.in_place,
                             .shape = resolve(tensor.shape, bindings).with_dtype(Dtype::f32).element_count().hash(),
                             .kept = number(tensor.kept, bindings, tensor.name)});
  }
  for (const Operator& op : work.operators) {
    SizedOperator out{.name = op.name, .role = op.role, .writes = op.writes, .structure = op.structure};
    if (!op.writes.empty()) {
      out.dtype = name(work.tensors[static_cast<size_t>(op.writes[0])].shape.dtype());
    }
    for (const Read& read : op.reads) {
      out.reads.push_back({read.tensor, number(read.bytes, bindings, op.name)});
    }
    out.flops = static_cast<double>(number(op.flops, bindings, op.name));
    out.parallelism = std::max<int64_t>(1, number(op.parallelism, bindings, op.name));
    out.least_bytes = number(op.least_bytes, bindings, op.name);
    graph.operators.push_back(std::move(out));
  }
  return graph;
}

uint64_t hash_of(const SizedGraph& graph) {
  uint64_t hash = hash_bytes(graph.model);
  for (const SizedOperator& op : graph.operators) {
    hash = combine_hash(combine_hash(hash, hash_bytes(op.name)), op.structure);
    for (const SizedRead& read : op.reads) {
      hash = combine_hash(hash, static_cast<uint64_t>(read.tensor));
    }
    hash = combine_hash(hash, op.reads.size());
  }
  for (const SizedTensor& tensor : graph.tensors) {
    hash = combine_hash(
        hash, static_cast<uint64_t>(tensor.producer + 1) * 4 + (tensor.weight ? 2 : 0) + (tensor.output ? 1 : 0));
  }
  return hash >> 11;  // 53 bits: a number of JSON holds it
}

void link(SizedGraph& graph) {
  for (SizedTensor& tensor : graph.tensors) {
    tensor.readers.clear();
    tensor.producer = -1;
  }
  for (int i = 0; i < graph.size(); ++i) {
    for (const SizedRead& read : graph.op(i).reads) {
      graph.tensors[static_cast<size_t>(read.tensor)].readers.push_back(i);
    }
    for (const int tensor : graph.op(i).writes) {
      graph.tensors[static_cast<size_t>(tensor)].producer = i;
    }
  }
}

}  // namespace tenon::partition
